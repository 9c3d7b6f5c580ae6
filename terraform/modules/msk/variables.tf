variable "name" {
  type        = string
  description = "Name of the instance, and of the cluster"
}

variable "brokers" {
  type        = number
  description = "Brokers: three or more, the same number in each zone; also in tests, because two brokers cannot lose one"
  default     = 3

  validation {
    condition     = var.brokers >= 3
    error_message = "brokers must be 3 or more: every record is on three of them, and two must have it before it is acknowledged."
  }
}

variable "instance_type" {
  type        = string
  description = "Type of the brokers. Tiered storage needs m5.large, m7g.large or bigger"
  default     = "kafka.m7g.large"

  validation {
    condition     = can(regex("^kafka\\.(m5|m7g)\\.[0-9]*x?large$", var.instance_type))
    error_message = "instance_type must be of kafka.m5 or kafka.m7g: smaller ones have no tiered storage."
  }
}

variable "volume_gib" {
  type        = number
  description = "Disk of each broker in GiB, for what is not in S3 yet; see docs/deploy/sizing.md"
  default     = 200

  validation {
    condition     = var.volume_gib >= 10 && var.volume_gib <= 16384
    error_message = "volume_gib must be from 10 to 16384."
  }
}

variable "local_hours" {
  type        = number
  description = "Hours for which brokers keep on their disks what is in S3 already"
  default     = 72

  validation {
    condition     = var.local_hours >= 1
    error_message = "local_hours must be at least 1."
  }
}

variable "kafka_version" {
  type        = string
  description = "Kafka version, in MSK's notation"
  default     = "3.9.x.kraft"

  validation {
    condition     = can(regex("^(3\\.9|4\\.[0-9]+)\\.x(\\.kraft)?$", var.kafka_version))
    error_message = "kafka_version must be 3.9.x, 3.9.x.kraft or 4.N.x.kraft: older ones were not tried with this project's clients."
  }
}

variable "subnet_ids" {
  type        = list(string)
  description = "Ids of the subnets of the brokers, one per zone"
}

variable "security_group_id" {
  type        = string
  description = "Id of the brokers' security group"
}

variable "key_arn" {
  type        = string
  description = "ARN of the key that encrypts the log at rest"
}

variable "secrets_key_arn" {
  type        = string
  description = "ARN of the key that encrypts the secret"
}

variable "log_group" {
  type        = string
  description = "Name of the log group of the brokers"
}

variable "user" {
  type        = string
  description = "Kafka user of `lk`"
  default     = "lk"
}

variable "write_password" {
  type        = bool
  description = "Whether `password` is written; false: you set the secret's value before MSK uses it"
  default     = true
}

variable "password" {
  type        = string
  description = "Password, written when `password_version` changes"
  default     = null
  ephemeral   = true
  sensitive   = true
}

variable "password_version" {
  type        = number
  description = "Raise it by one to write `password` at the next apply (docs/runbooks/rotate-keys.md)"
  default     = 1
}

variable "destroy_with_data" {
  type        = bool
  description = "Whether terraform may destroy or replace the cluster"
  default     = false
}
