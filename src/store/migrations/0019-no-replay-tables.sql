-- Kept only so that `check --alerts` could replay the rules `unparsed` and `disk`.
DROP TABLE unparsed_counts;
DROP TABLE disk_fill;
