-- The model that made the vectors says what their cosines mean.
ALTER TABLE memory_embedding ADD COLUMN calibration jsonb;
