variable "name" {
  type        = string
  description = "Name of the instance, and of the application"
}

variable "release" {
  type        = string
  description = "EMR's release; the image's base must be the same"
  default     = "emr-spark-8.0.0"
}

variable "image_tag" {
  type        = string
  description = "Tag of the jobs' image in its repository; null until one was pushed"
  default     = null

  validation {
    condition     = var.image_tag == null || can(regex("^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$", var.image_tag)) && var.image_tag != "latest"
    error_message = "image_tag must be a tag that says what is in it, never latest: tags cannot be moved."
  }
}

variable "max_cores" {
  type        = number
  description = "Maximum cores of all jobs together, with 4 GB of memory each. It limits the costs"
  default     = 32

  validation {
    condition     = var.max_cores >= 4
    error_message = "max_cores must be at least 4: a driver and executors."
  }
}

variable "subnet_ids" {
  type        = list(string)
  description = "Ids of the subnets of drivers and executors"
}

variable "security_group_id" {
  type        = string
  description = "Id of their security group"
}

variable "bucket_arns" {
  type        = map(string)
  description = "ARNs of the buckets `lake` and `artifacts`"
}

variable "log_group_arns" {
  type        = map(string)
  description = "ARNs of the log groups `jobs` and `status`"
}

variable "lake_key_arn" {
  type        = string
  description = "ARN of the key of lake and artifacts"
}

variable "images_key_arn" {
  type        = string
  description = "ARN of the key of images"
}

variable "secrets_key_arn" {
  type        = string
  description = "ARN of the key of secrets"
}

variable "kafka_secret_arn" {
  type        = string
  description = "ARN of the secret with Kafka's user and password"
}

variable "trino_secret_arn" {
  type        = string
  description = "ARN of the secret with Trino's users and passwords"
}

variable "destroy_with_data" {
  type        = bool
  description = "Whether `terraform destroy` may delete a repository that holds images"
  default     = false
}
