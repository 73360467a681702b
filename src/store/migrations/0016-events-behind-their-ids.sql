-- Events that tell an earlier time than their id: those that were told after a clock that was ahead. Ids never go back, so
-- that retention finds such events by their time alone.
CREATE INDEX events_behind ON events (at) WHERE at < id;
