# The whole system: each module is one part of docs/architecture.md.

module "keys" {
  source = "./modules/keys"

  name          = var.name
  deletion_days = var.destroy_with_data ? 7 : 30
}

module "observability" {
  source = "./modules/observability"

  name              = var.name
  cluster_name      = var.name
  logs_key_arn      = module.keys.arns["logs"]
  alarms_key_arn    = module.keys.arns["alarms"]
  log_days          = var.log_days
  emails            = var.alarm_emails
  epoch_age_seconds = var.epoch_age_seconds
}

module "network" {
  source = "./modules/network"

  name               = var.name
  cidr               = var.cidr
  zones              = var.zones
  clients            = var.clients
  airflow_endpoints  = var.airflow ? null : []
  bucket_arns        = values(module.lake.bucket_arns)
  flow_log_group_arn = module.observability.log_group_arns["flow"]
}

module "lake" {
  source = "./modules/lake"

  name                 = var.name
  key_arn              = module.keys.arns["lake"]
  days_deleted_is_kept = var.days_deleted_is_kept
  archive_lock_days    = var.archive_lock_days
  destroy_with_data    = var.destroy_with_data
  lifecycle_rules      = local.real
}

module "msk" {
  source = "./modules/msk"

  name              = var.name
  brokers           = var.brokers
  instance_type     = var.broker_type
  volume_gib        = var.broker_volume_gib
  kafka_version     = var.kafka_version
  subnet_ids        = module.network.subnet_ids
  security_group_id = module.network.groups["brokers"]
  key_arn           = module.keys.arns["log"]
  secrets_key_arn   = module.keys.arns["secrets"]
  log_group         = module.observability.log_groups["brokers"]
  write_password    = var.generate_passwords
  password          = one(ephemeral.aws_secretsmanager_random_password.kafka[*].random_password)
  password_version  = var.password_version
  destroy_with_data = var.destroy_with_data
}

module "spark" {
  source = "./modules/spark"

  name              = var.name
  release           = var.emr_release
  image_tag         = var.image_tag
  max_cores         = var.spark_max_cores
  subnet_ids        = module.network.subnet_ids
  security_group_id = module.network.groups["jobs"]
  bucket_arns       = module.lake.bucket_arns
  log_group_arns    = module.observability.log_group_arns
  lake_key_arn      = module.keys.arns["lake"]
  images_key_arn    = module.keys.arns["images"]
  secrets_key_arn   = module.keys.arns["secrets"]
  kafka_secret_arn  = module.msk.secret_arn
  trino_secret_arn  = module.trino.users_secret_arn
  destroy_with_data = var.destroy_with_data
}

module "trino" {
  source = "./modules/trino"

  name               = var.name
  host               = var.trino_host
  certificate_arn    = var.certificate_arn
  image_tag          = var.image_tag
  workers            = var.trino_workers
  cpu                = var.trino_cpu
  memory             = var.trino_memory
  vpc_id             = module.network.vpc_id
  subnet_ids         = module.network.subnet_ids
  security_group_ids = module.network.groups
  lake_bucket        = module.lake.buckets["lake"]
  lake_bucket_arn    = module.lake.bucket_arns["lake"]
  access_bucket      = module.lake.buckets["access"]
  databases          = module.lake.databases
  lake_key_arn       = module.keys.arns["lake"]
  images_key_arn     = module.keys.arns["images"]
  secrets_key_arn    = module.keys.arns["secrets"]
  log_group          = module.observability.log_groups["trino"]
  log_group_arn      = module.observability.log_group_arns["trino"]
  write_password     = var.generate_passwords
  password           = one(ephemeral.aws_secretsmanager_random_password.trino[*].random_password)
  users              = { for user, generated in ephemeral.aws_secretsmanager_random_password.trino_users : user => generated.random_password }
  password_version   = var.password_version
  destroy_with_data  = var.destroy_with_data
}

module "airflow" {
  source = "./modules/airflow"
  count  = var.airflow ? 1 : 0

  name                 = var.name
  airflow_version      = var.airflow_version
  environment_class    = var.airflow_class
  dags                 = "${path.module}/../dags"
  lk                   = coalesce(var.airflow_lk, "${path.module}/../infra/emr.py")
  settings_uri         = local.settings_uri
  artifacts_bucket     = module.lake.buckets["artifacts"]
  artifacts_bucket_arn = module.lake.bucket_arns["artifacts"]
  lake_bucket_arn      = module.lake.bucket_arns["lake"]
  lake_key_arn         = module.keys.arns["lake"]
  application_arn      = module.spark.application_arn
  job_role_arn         = module.spark.job_role_arn
  subnet_ids           = module.network.subnet_ids
  security_group_id    = module.network.groups["airflow"]
}
