output "cluster_arn" {
  description = "ARN of the cluster"
  value       = aws_msk_cluster.this.arn
}

output "cluster_name" {
  description = "Name of the cluster in its metrics"
  value       = aws_msk_cluster.this.cluster_name
}

output "bootstrap" {
  description = "Bootstrap servers for SASL/SCRAM over TLS"
  value       = aws_msk_cluster.this.bootstrap_brokers_sasl_scram
}

output "user" {
  description = "Kafka user of `lk`"
  value       = var.user
}

output "secret_arn" {
  description = "ARN of the secret with user and password"
  value       = aws_secretsmanager_secret.lk.arn
}

output "local_hours" {
  description = "Hours of the log on the brokers' disks; older records are in tiered storage"
  value       = var.local_hours
}
