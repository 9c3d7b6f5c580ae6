output "settings" {
  description = "The settings file of `lk`"
  value       = local.settings
}

output "settings_uri" {
  description = "Where it is in S3"
  value       = local.settings_uri
}

output "bootstrap" {
  description = "Kafka's bootstrap servers, SASL/SCRAM over TLS"
  value       = module.msk.bootstrap
}

output "kafka_secret_arn" {
  description = "ARN of the secret with Kafka's user and password"
  value       = module.msk.secret_arn
}

output "trino_secret_arn" {
  description = "ARN of the secret with Trino's users and their passwords, as JSON"
  value       = module.trino.users_secret_arn
}

output "buckets" {
  description = "Use (lake, artifacts, access) => name of the bucket"
  value       = module.lake.buckets
}

output "locked_archive" {
  description = "Name of the bucket with the locked copy of the archive; null without one"
  value       = module.lake.locked_archive
}

output "repositories" {
  description = "Repositories of the images: jobs, trino"
  value       = { jobs = module.spark.repository, trino = module.trino.repository }
}

output "emr_application" {
  description = "Id of the EMR Serverless application"
  value       = module.spark.application_id
}

output "emr_role" {
  description = "ARN of the role of jobs"
  value       = module.spark.job_role_arn
}

output "trino" {
  description = "Where Trino is"
  value       = "https://${module.trino.host}:443"
}

output "airflow" {
  description = "Host of Airflow's web interface; null without Airflow"
  value       = one(module.airflow[*].url)
}

output "log_groups" {
  description = "What => name of its log group"
  value       = module.observability.log_groups
}

output "alarm_topic_arn" {
  description = "ARN of the topic that alarms go to"
  value       = module.observability.alarm_topic_arn
}
