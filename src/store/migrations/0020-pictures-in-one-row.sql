-- A picture is one row. `features` is a JSON array compressed with zstd; rows made here are uncompressed until the
-- next poll rewrites them.
ALTER TABLE pictures ADD COLUMN features BLOB;

-- Parts hold `[kind, row]`: a feature, then its pools, checkouts, reservations and queue entries.
UPDATE pictures SET features = (
  WITH
    rows AS (
      SELECT part.key AS part, row.key AS place, row.value ->> 0 AS kind, row.value -> 1 AS value
      FROM json_each(pictures.head, '$.parts') AS part
      JOIN picture_parts ON picture_parts.server_id = pictures.server_id AND picture_parts.hash = part.value
        AND json_valid(picture_parts.body)
      JOIN json_each(picture_parts.body) AS row
    ),
    numbered AS (
      SELECT *, sum(kind = 'feature') OVER (ORDER BY part, place) AS feature FROM rows
    ),
    built AS (
      SELECT feature, json_set(
        max(value) FILTER (WHERE kind = 'feature'),
        '$.pools', json_group_array(json(value) ORDER BY part, place) FILTER (WHERE kind = 'pools'),
        '$.checkouts', json_group_array(json(value) ORDER BY part, place) FILTER (WHERE kind = 'checkouts'),
        '$.reservations', json_group_array(json(value) ORDER BY part, place) FILTER (WHERE kind = 'reservations'),
        '$.queue', json_group_array(json(value) ORDER BY part, place) FILTER (WHERE kind = 'queue')
      ) AS body
      FROM numbered GROUP BY feature
    )
  SELECT CAST(json_group_array(json(body) ORDER BY feature) AS BLOB) FROM built
) WHERE json_valid(head);

DROP TABLE picture_parts;
