output "arns" {
  description = "Purpose => ARN of its key"
  value       = { for purpose, key in aws_kms_key.this : purpose => key.arn }
}
