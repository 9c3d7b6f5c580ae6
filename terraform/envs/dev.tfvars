# A small instance that may be thrown away, with its data. Three brokers all the same: two cannot lose one.
name              = "lk-dev"
certificate_arn   = "arn:aws:acm:us-east-1:123456789012:certificate/00000000-0000-0000-0000-000000000000" # yours
trino_host        = "trino.dev.example.org"                                                               # yours
broker_type       = "kafka.m7g.large"
broker_volume_gib = 100
spark_max_cores   = 16
trino_workers     = 1
trino_cpu         = 2048
trino_memory      = 8192
log_days          = 30
destroy_with_data = true
tags              = { environment = "dev" }
