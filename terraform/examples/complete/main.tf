# Everything that can be said, in an account of its own.

module "lk" {
  source = "../.."

  name                 = "lk-complete"
  region               = "eu-central-1"
  certificate_arn      = var.certificate_arn
  trino_host           = "trino.example.org"
  clients              = { office = "10.0.0.0/16", vpn = "172.16.0.0/20" }
  alarm_emails         = ["oncall@example.org"]
  image_tag            = "2026-11-23"
  cidr                 = "10.40.0.0/18"
  zones                = 3
  brokers              = 6
  broker_type          = "kafka.m7g.2xlarge"
  broker_volume_gib    = 4000
  kafka_version        = "3.9.x.kraft"
  emr_release          = "emr-spark-8.0.0"
  spark_max_cores      = 256
  trino_workers        = 8
  trino_cpu            = 16384
  trino_memory         = 65536
  airflow              = true
  airflow_version      = "3.3.2"
  airflow_class        = "mw1.large"
  airflow_lk           = "${path.module}/../../../infra/emr.py"
  log_days             = 400
  days_deleted_is_kept = 90
  archive_lock_days    = 400
  epoch_age_seconds    = 60
  destroy_with_data    = false
  tags                 = { environment = "prod", owner = "data-platform", cost-centre = "4711" }
}

variable "certificate_arn" {
  type        = string
  description = "ARN of the certificate of trino.example.org"
}

output "settings" {
  description = "The settings file of `lk`"
  value       = module.lk.settings
}
