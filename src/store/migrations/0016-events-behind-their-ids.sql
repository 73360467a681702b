-- Events with an earlier time than their id, published after the clock had been ahead. Ids never decrease, so
-- retention finds such events only by their time.
CREATE INDEX events_behind ON events (at) WHERE at < id;
