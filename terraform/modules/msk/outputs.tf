output "cluster_arn" {
  description = "ARN of the cluster"
  value       = aws_msk_cluster.this.arn
}

output "cluster_name" {
  description = "Name of the cluster, as its metrics call it"
  value       = aws_msk_cluster.this.cluster_name
}

output "bootstrap" {
  description = "Bootstrap servers for SASL/SCRAM over TLS"
  value       = aws_msk_cluster.this.bootstrap_brokers_sasl_scram
}

output "user" {
  description = "User that `lk` is to Kafka"
  value       = var.user
}

output "secret_arn" {
  description = "ARN of the secret with user and password"
  value       = aws_secretsmanager_secret.lk.arn
}

output "local_hours" {
  description = "Hours of the log on the brokers' disks; older is in tiered storage"
  value       = var.local_hours
}
