variable "name" {
  type        = string
  description = "Name of the instance"
}

variable "image_tag" {
  type        = string
  description = "Tag of Trino's image in its repository; null until one was pushed: no task runs then"
  default     = null
}

variable "workers" {
  type        = number
  description = "Number of workers, without the coordinator"
  default     = 2

  validation {
    condition     = var.workers >= 1
    error_message = "workers must be at least 1: the coordinator computes nothing itself."
  }
}

variable "cpu" {
  type        = number
  description = "CPU units of each task; 1024 are one core"
  default     = 4096

  validation {
    condition     = contains([1024, 2048, 4096, 8192, 16384], var.cpu)
    error_message = "cpu must be 1024, 2048, 4096, 8192 or 16384, as Fargate has them."
  }
}

variable "memory" {
  type        = number
  description = "Memory of each task in MiB"
  default     = 16384
}

variable "certificate_arn" {
  type        = string
  description = "ARN of the certificate of the name under which people reach Trino"

  validation {
    condition     = can(regex("^arn:aws[a-z-]*:acm:", var.certificate_arn))
    error_message = "certificate_arn must be the ARN of a certificate of ACM; nothing is served without TLS."
  }
}

variable "host" {
  type        = string
  description = "Name of the certificate, under which Trino is reached inside the VPC"

  validation {
    condition     = can(regex("^[a-z0-9-]+(\\.[a-z0-9-]+)+$", var.host))
    error_message = "host must be a DNS name, such as trino.example.org."
  }
}

variable "vpc_id" {
  type        = string
  description = "Id of the VPC"
}

variable "subnet_ids" {
  type        = list(string)
  description = "Ids of the subnets of tasks and load balancer"
}

variable "security_group_ids" {
  type        = map(string)
  description = "Ids of the security groups `trino` and `balancer`"
}

variable "lake_bucket" {
  type        = string
  description = "Name of the lake's bucket"
}

variable "lake_bucket_arn" {
  type        = string
  description = "ARN of the lake's bucket"
}

variable "access_bucket" {
  type        = string
  description = "Name of the bucket for access logs"
}

variable "databases" {
  type        = list(string)
  description = "Names of Glue's databases"
}

variable "lake_key_arn" {
  type        = string
  description = "ARN of the lake's key"
}

variable "images_key_arn" {
  type        = string
  description = "ARN of the key of images"
}

variable "secrets_key_arn" {
  type        = string
  description = "ARN of the key of secrets"
}

variable "log_group" {
  type        = string
  description = "Name of Trino's log group"
}

variable "log_group_arn" {
  type        = string
  description = "ARN of Trino's log group"
}

variable "write_password" {
  type        = bool
  description = "Whether `password` and `users` are written; false: you set the values of the secrets before tasks start"
  default     = true
}

variable "password" {
  type        = string
  description = "Shared secret of coordinator and workers, written when `password_version` changes"
  default     = null
  ephemeral   = true
  sensitive   = true
}

variable "users" {
  type        = map(string)
  description = "User of Trino => password, written when `password_version` changes"
  default     = {}
  ephemeral   = true
  sensitive   = true
}

variable "password_version" {
  type        = number
  description = "Raise it by one to write `password` at the next apply"
  default     = 1
}

variable "destroy_with_data" {
  type        = bool
  description = "Whether `terraform destroy` may delete the load balancer and a repository that holds images"
  default     = false
}
