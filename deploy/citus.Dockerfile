# PostgreSQL with Citus and pgvector, for the nodes of compose.citus.yaml. Citus is AGPL-3.0: a service of its own.
FROM citusdata/citus:14.0.1-pg18
# the base image's archive has one version of it, and drops that when there is a newer one
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends postgresql-18-pgvector \
    && rm -rf /var/lib/apt/lists/*
