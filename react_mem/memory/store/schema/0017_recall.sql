-- A recall: every arm over one owner's texts, scored and sorted where they are. Words are told apart by one comparison,
-- 24 words or marks at once: the sum of as many powers of two is exact in a single-precision number.
-- A function cannot be replaced by one with other columns: it is dropped and made anew.
DROP FUNCTION IF EXISTS memory_recall(jsonb, vector);

CREATE FUNCTION memory_recall(op jsonb, question vector)
RETURNS TABLE (
    place bigint, prefix text, key text, field_name text, value jsonb, created_at timestamptz, updated_at timestamptz,
    score float8, cosine float8, lexical float8, around float8, speaker float8, said float8, partner jsonb,
    unread bigint, texts bigint
)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET jit = off AS $function$
#variable_conflict use_column
DECLARE
    space CONSTANT text := op->>'space';
    asked CONSTANT sparsevec := (op->>'words')::sparsevec;
    marked CONSTANT sparsevec := (op->>'marks')::sparsevec;
    weights CONSTANT float8[] := ARRAY(SELECT jsonb_array_elements_text(op->'weights')::float8);
    required CONSTANT bigint := (op->>'required')::bigint;
    refused CONSTANT bigint := (op->>'refused')::bigint;
    speaker_bit CONSTANT bigint := (op->>'speaker')::bigint;
    itself_bit CONSTANT bigint := (op->>'itself')::bigint;
    when_bit CONSTANT bigint := (op->>'when')::bigint;
    equal CONSTANT jsonb := op->'equal';
    unequal CONSTANT jsonb[] := ARRAY(SELECT jsonb_array_elements(op->'unequal'));
    skipped CONSTANT text[] := ARRAY(SELECT jsonb_array_elements_text(op->'without'));
    starts CONSTANT timestamptz[] := ARRAY(SELECT jsonb_array_elements_text(op->'starts')::timestamptz);
    ends CONSTANT timestamptz[] := ARRAY(SELECT jsonb_array_elements_text(op->'ends')::timestamptz);
    decay CONSTANT float8 := (op->>'decay')::float8;
    kernel CONSTANT float8[] := ARRAY(SELECT jsonb_array_elements_text(op->'kernel')::float8);
    w_cosine CONSTANT float8 := (op->>'w_cosine')::float8;
    w_around CONSTANT float8 := (op->>'w_around')::float8;
    w_lexical CONSTANT float8 := (op->>'w_lexical')::float8;
    w_speaker CONSTANT float8 := (op->>'w_speaker')::float8;
    w_itself CONSTANT float8 := (op->>'w_itself')::float8;
    w_time CONSTANT float8 := (op->>'w_time')::float8;
    w_when CONSTANT float8 := (op->>'w_when')::float8;
    k1 CONSTANT float8 := (op->>'k1')::float8;
    b CONSTANT float8 := (op->>'b')::float8;
    unrelated CONSTANT float8 := (op->>'unrelated')::float8;
    min_cosine CONSTANT float8 := (op->>'min_cosine')::float8;
    reach CONSTANT int := (op->>'reach')::int;
    seeds CONSTANT int := (op->>'seeds')::int;
    partners CONSTANT int := (op->>'partners')::int;
    wanted CONSTANT int := (op->>'limit')::int;
BEGIN
IF NOT EXISTS (SELECT FROM store_vectors v WHERE v.prefix = space) THEN
    RETURN;
END IF;
-- documents are rare among facts, and former facts among current ones: seen in a fifth of the time of scoring
IF required <> 0 AND NOT EXISTS (
    SELECT FROM store_vectors v
    WHERE v.prefix = space AND (v.terms IS NULL OR (-(v.terms <#> marked))::bigint & required = required)
) THEN
    RETURN;
END IF;
RETURN QUERY
WITH texts AS MATERIALIZED (
    -- narrow: keys are looked up for those that are proposed
    SELECT s.*, row_number() OVER (ORDER BY s.place) AS number,
        s.free AND s.marks & required = required AND s.marks & refused = 0 AS eligible
    FROM (
        SELECT v.ctid AS id, v.place, v.said_at, v.terms IS NULL AS unread,
            cardinality(skipped) = 0 OR v.key NOT IN (SELECT unnest(skipped)) AS free,
            -- a vector of zeros has no direction
            NULLIF(1 - (v.half <=> question::halfvec), 'NaN') AS cosine,
            COALESCE(-(v.terms <#> asked), 0)::bigint AS words,
            CASE WHEN v.terms IS NOT NULL THEN (-(v.terms <#> marked))::bigint ELSE (
                SELECT CASE WHEN i.value @> equal THEN required ELSE 0 END
                    | CASE WHEN i.value @> ANY (unequal) THEN refused ELSE 0 END
                FROM store i WHERE i.prefix = space AND i.key = v.key
            ) END AS marks,
            COALESCE(v.length, 0)::float8 AS length
        FROM store_vectors v WHERE v.prefix = space
        OFFSET 0 -- otherwise the vectors themselves would be sorted along
    ) s
), sets AS MATERIALIZED (
    SELECT t.words, count(*)::float8 AS texts, sum(t.length) AS length, count(*) FILTER (WHERE t.unread) AS unread
    FROM texts t GROUP BY t.words
), totals AS MATERIALIZED (
    SELECT sum(s.texts) AS texts, GREATEST(sum(s.length) / sum(s.texts), 1) AS length, sum(s.unread)::bigint AS unread
    FROM sets s
), rarity AS MATERIALIZED (
    SELECT w.bit, w.weight * ln(1 + (totals.texts - having_it.texts + 0.5) / (having_it.texts + 0.5)) AS idf
    FROM totals,
    (SELECT 1::bigint << (n.ordinality::int - 1) AS bit, n.weight
        FROM unnest(weights) WITH ORDINALITY AS n (weight, ordinality)) w,
    LATERAL (SELECT COALESCE(sum(s.texts), 0) AS texts FROM sets s WHERE s.words & w.bit <> 0) having_it
), said_words AS (
    SELECT s.words, sum(r.idf) AS idf FROM sets s JOIN rarity r ON s.words & r.bit <> 0 GROUP BY s.words
), proposed AS (
    (SELECT t.number, t.place FROM texts t
        WHERE t.eligible AND t.cosine >= min_cosine
        ORDER BY t.cosine DESC LIMIT seeds)
    UNION
    (SELECT o.number, o.place FROM (
            SELECT t.number, t.place, t.words, 1 / (1 - b + b * t.length / (SELECT length FROM totals)) AS norm
            FROM texts t WHERE t.eligible AND t.words <> 0
        ) o JOIN said_words s ON s.words = o.words
        ORDER BY s.idf * o.norm * (k1 + 1) / (k1 + o.norm) DESC LIMIT seeds)
    UNION
    (SELECT t.number, t.place FROM texts t
        WHERE cardinality(starts) > 0 AND t.eligible AND EXISTS (
            SELECT FROM unnest(starts, ends) AS p (first, last) WHERE t.said_at BETWEEN p.first AND p.last)
        ORDER BY t.cosine DESC NULLS LAST LIMIT seeds)
), region AS MATERIALIZED (
    -- the neighbours of what is proposed, which are scored too, and theirs, which count for them
    SELECT t.* FROM (
        SELECT DISTINCT p.number + d.away AS number FROM proposed p CROSS JOIN generate_series(-4, 4) AS d (away)
    ) n JOIN texts t ON t.number = n.number
), candidates AS MATERIALIZED (
    SELECT r.*, r.place >> 32 AS conversation FROM region r JOIN (
        SELECT DISTINCT m.number FROM (
            SELECT p.number + d.away AS number, d.away, p.place >> 32 AS conversation
            FROM proposed p CROSS JOIN generate_series(-reach, reach) AS d (away) OFFSET 0
        ) n JOIN region m ON m.number = n.number
        WHERE m.eligible AND (n.away = 0 OR m.place >> 32 = n.conversation)
    ) c ON c.number = r.number
), near AS MATERIALIZED (
    SELECT n.number, n.away, r.words, r.cosine,
        kernel[n.away + 3] / (1 - b + b * r.length / (SELECT length FROM totals)) AS norm
    FROM (
        SELECT c.number, d.away, c.number + d.away AS neighbour, c.conversation
        FROM candidates c CROSS JOIN generate_series(-2, 2) AS d (away) OFFSET 0
    ) n JOIN region r ON r.number = n.neighbour
    WHERE n.away = 0 OR r.place >> 32 = n.conversation
), matched AS (
    SELECT n.number, r.idf, sum(n.norm) AS times FROM near n JOIN rarity r ON n.words & r.bit <> 0
    WHERE n.words <> 0 GROUP BY n.number, r.bit, r.idf
), worded AS (
    SELECT m.number, sum(m.idf * m.times * (k1 + 1) / (k1 + m.times)) AS score FROM matched m GROUP BY m.number
), gathered AS (
    -- grouped, not joined: the planner cannot know how few these are, and would compare each with each
    SELECT g.number, max(g.id) AS id, max(g.place) AS place, max(g.said_at) AS said_at, max(g.marks) AS marks,
        max(g.cosine) AS cosine, max(g.around) AS around, max(g.worded) AS worded
    FROM (
        SELECT c.number, c.id, c.place, c.said_at, c.marks, c.cosine, NULL::float8 AS around, NULL::float8 AS worded
        FROM candidates c
        UNION ALL
        SELECT n.number, NULL, NULL, NULL, NULL, NULL, avg(n.cosine), NULL
        FROM near n WHERE n.away <> 0 GROUP BY n.number
        UNION ALL
        SELECT w.number, NULL, NULL, NULL, NULL, NULL, NULL, w.score FROM worded w
    ) g GROUP BY g.number
), scored AS (
    SELECT c.id, c.place, c.cosine,
        w_lexical * COALESCE(c.worded, 0) AS lexical,
        w_cosine * COALESCE(c.cosine - unrelated, 0) AS vector,
        w_around * COALESCE(COALESCE(c.around, c.cosine) - unrelated, 0) AS around,
        w_speaker * (c.marks & speaker_bit <> 0)::int + w_itself * (c.marks & itself_bit <> 0)::int AS speaker,
        w_time * COALESCE((
            -- PostgreSQL refuses an exponential too small for a float8, which from e^-745 on it is
            SELECT max(exp(-LEAST(GREATEST(extract(epoch FROM p.first - c.said_at),
                extract(epoch FROM c.said_at - p.last), 0) / 86400 / decay, 700)))
            FROM unnest(starts, ends) AS p (first, last)), 0) + w_when * (c.marks & when_bit <> 0)::int AS said
    FROM gathered c
    -- a neighbour of what was proposed that is too far itself has at least a word about it, or the time
    WHERE w_cosine = 0 OR c.cosine IS NULL OR c.cosine >= min_cosine OR c.worded > 0 OR EXISTS (
        SELECT FROM unnest(starts, ends) AS p (first, last) WHERE c.said_at BETWEEN p.first AND p.last)
), summed AS (
    SELECT s.*, v.key, v.field_name, s.lexical + s.vector + s.around + s.speaker + s.said AS score
    FROM scored s, LATERAL (
        SELECT v.key, v.field_name FROM store_vectors v WHERE v.ctid = s.id
        OFFSET 0 -- one by one: otherwise all of the table could be read
    ) v
), best AS (
    SELECT DISTINCT ON (s.key) s.* FROM summed s ORDER BY s.key, s.score DESC, s.field_name
)
SELECT found.place, space, found.key, found.field_name, found.value, found.created_at, found.updated_at, found.score,
    found.cosine, found.lexical, found.around, found.speaker, found.said, found.partner, totals.unread,
    totals.texts::bigint
FROM totals LEFT JOIN LATERAL (
    SELECT f.*, i.value, i.created_at, i.updated_at, CASE WHEN (op->>'pairs')::boolean THEN (
        SELECT jsonb_build_object('id', a.key, 'role', a.value->'role', 'text', a.value->'text')
        FROM (
            (SELECT n.key, n.place FROM store_vectors n
                WHERE i.value->>'role' = 'user' AND n.prefix = space AND n.place > f.place
                    AND n.place <= (f.place | 4294967295)
                ORDER BY n.place LIMIT partners)
            UNION ALL
            (SELECT n.key, n.place FROM store_vectors n
                WHERE i.value->>'role' <> 'user' AND n.prefix = space AND n.place < f.place
                    AND n.place >= (f.place >> 32) << 32
                ORDER BY n.place DESC LIMIT partners)
        ) n JOIN store a ON a.prefix = space AND a.key = n.key
        WHERE a.value->>'role' <> i.value->>'role'
        ORDER BY abs(n.place - f.place) LIMIT 1
    ) END AS partner
    FROM (SELECT * FROM best ORDER BY score DESC, key) f, LATERAL (
        SELECT i.value, i.created_at, i.updated_at FROM store i
        WHERE i.prefix = space AND i.key = f.key AND (i.expires_at IS NULL OR i.expires_at > now())
        OFFSET 0 -- one by one, until there are enough
    ) i
    ORDER BY f.score DESC, f.key LIMIT wanted
) found ON TRUE;
END
$function$;
