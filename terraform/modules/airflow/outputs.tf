output "url" {
  description = "Host of Airflow's web interface, inside the VPC"
  value       = aws_mwaa_environment.this.webserver_url
}

output "arn" {
  description = "ARN of the environment"
  value       = aws_mwaa_environment.this.arn
}

output "dags" {
  description = "Files that were uploaded"
  value       = sort(local.dags)
}
