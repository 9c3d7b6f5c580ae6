output "application_id" {
  description = "Id of the EMR Serverless application"
  value       = aws_emrserverless_application.this.id
}

output "application_arn" {
  description = "ARN of the EMR Serverless application"
  value       = aws_emrserverless_application.this.arn
}

output "job_role_arn" {
  description = "ARN of the role of jobs"
  value       = aws_iam_role.job.arn
}

output "job_role_name" {
  description = "Name of the role of jobs"
  value       = aws_iam_role.job.name
}

output "repository" {
  description = "Repository of the jobs' image"
  value       = aws_ecr_repository.jobs.repository_url
}
