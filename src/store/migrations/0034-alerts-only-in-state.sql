-- Alerts are only in state.db: their rows were moved there before this step.
DROP TABLE alerts;
DROP TABLE alert_watches;
DROP TABLE alert_baselines;
DROP TABLE notifications;
