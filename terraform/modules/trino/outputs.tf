output "host" {
  description = "Name under which Trino is reached inside the VPC"
  value       = aws_route53_record.this.name
}

output "balancer" {
  description = "DNS name of the load balancer, for a DNS record outside this module"
  value       = aws_lb.this.dns_name
}

output "users_secret_arn" {
  description = "ARN of the secret with the users and their passwords, as JSON"
  value       = aws_secretsmanager_secret.this["users"].arn
}

output "repository" {
  description = "Repository of Trino's image"
  value       = aws_ecr_repository.trino.repository_url
}
