output "buckets" {
  description = "Use (lake, artifacts, access) => name of the bucket"
  value       = { for use, bucket in aws_s3_bucket.this : use => bucket.id if use != "archive" }
}

output "bucket_arns" {
  description = "Use => ARN of the bucket"
  value       = { for use, bucket in aws_s3_bucket.this : use => bucket.arn if use != "archive" }
}

output "locked_archive" {
  description = "Name of the bucket with the locked copy of the archive, which no job reaches; null without one"
  value       = one([for use in local.locked : local.buckets[use]])
}

output "lake" {
  description = "Root of all tables, the setting `lake`"
  value       = "s3a://${aws_s3_bucket.this["lake"].id}/${local.root}"
}

output "checkpoints" {
  description = "Root of the checkpoints, the setting `checkpoints`"
  value       = "s3a://${aws_s3_bucket.this["lake"].id}/checkpoints"
}

output "databases" {
  description = "Names of Glue's databases"
  value       = sort([for database in aws_glue_catalog_database.this : database.name])
}
