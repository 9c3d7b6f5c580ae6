# Sized for about 10,000 events/s; docs/deploy/sizing.md says what to change for more.
name              = "lk-prod"
certificate_arn   = "arn:aws:acm:us-east-1:123456789012:certificate/00000000-0000-0000-0000-000000000000" # yours
trino_host        = "trino.example.org"                                                                   # yours
clients           = { office = "10.0.0.0/16" }                                                            # yours
alarm_emails      = ["oncall@example.org"]                                                                # yours
broker_type       = "kafka.m7g.xlarge"
broker_volume_gib = 1000
spark_max_cores   = 64
trino_workers     = 3
trino_cpu         = 8192
trino_memory      = 32768
airflow_class     = "mw1.medium"
archive_lock_days = 400 # a copy of the archive that nobody deletes; 0 before you archive plain text about persons
tags              = { environment = "prod" }
