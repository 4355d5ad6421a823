-- Work behind the turns is searched across owners, for what is due; the expressions are those of a search's filter.
CREATE INDEX IF NOT EXISTS store_work_due_idx ON store (
    (COALESCE(value #> '{agent}'::text[], 'null'::jsonb)), (COALESCE(value #> '{due_at}'::text[], 'null'::jsonb))
) WHERE prefix = 'memory_work' OR (prefix ~>=~ 'memory_work.' AND prefix ~<~ 'memory_work/');
