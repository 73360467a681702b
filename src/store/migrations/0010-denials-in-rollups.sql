-- A denial learnt late, from a log that was read later or imported, has its hour rolled up again.
CREATE TRIGGER denials_open_history AFTER INSERT ON denials
BEGIN
  INSERT INTO history_open (span, at, touches)
    VALUES (3600000, NEW.at / 3600000 * 3600000, 1), (86400000, NEW.at / 86400000 * 86400000, 1)
    ON CONFLICT DO UPDATE SET touches = touches + 1;
END;
CREATE TRIGGER denials_reopen_history AFTER UPDATE OF at, outcome ON denials
  WHEN NEW.at <> OLD.at OR NEW.outcome <> OLD.outcome
BEGIN
  INSERT INTO history_open (span, at, touches)
    VALUES (3600000, NEW.at / 3600000 * 3600000, 1), (86400000, NEW.at / 86400000 * 86400000, 1),
      (3600000, OLD.at / 3600000 * 3600000, 1), (86400000, OLD.at / 86400000 * 86400000, 1)
    ON CONFLICT DO UPDATE SET touches = touches + 1;
END;
