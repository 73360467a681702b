-- Each site was given this secret, so that every site and the hub could turn pseudonyms back into names. The hub makes
-- another one for its anonymized keys, and sites have a key that the hub never sees.
DELETE FROM secrets WHERE name = 'pseudonyms';
-- Aliases in current_rows belong to the old secret. No site sends the difference to a picture -1: each sends the whole.
UPDATE servers SET picture = -1 WHERE picture IS NOT NULL;
