variable "name" {
  type        = string
  description = "Name of the instance; log groups are /lk/NAME/…"
}

variable "cluster_name" {
  type        = string
  description = "Name of the MSK cluster in its metrics"
}

variable "logs_key_arn" {
  type        = string
  description = "ARN of the key that encrypts log groups"
}

variable "alarms_key_arn" {
  type        = string
  description = "ARN of the key that encrypts alarms"
}

variable "log_days" {
  type        = number
  description = "Days for which logs are kept; a value that CloudWatch accepts"
  default     = 365

  validation {
    condition     = contains([30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827], var.log_days)
    error_message = "log_days must be one of CloudWatch's numbers from 30 on: 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827."
  }
}

variable "emails" {
  type        = set(string)
  description = "E-mail addresses that receive alarms; each must confirm once"
  default     = []

  validation {
    condition     = alltrue([for email in var.emails : can(regex("^[^@ ]+@[^@ ]+$", email))])
    error_message = "Each of emails must be an address such as team@example.org."
  }
}

variable "epoch_age_seconds" {
  type        = number
  description = "Seconds after which the newest epoch is too old"
  default     = 120
}

variable "quarantine_rate" {
  type        = number
  description = "Share of records that may be in quarantine, from 0 to 1"
  default     = 0.01

  validation {
    condition     = var.quarantine_rate >= 0 && var.quarantine_rate <= 1
    error_message = "quarantine_rate is a share, from 0 to 1."
  }
}

variable "lag_records" {
  type        = number
  description = "Records that a consumer group may be behind"
  default     = 1000000
}

variable "lag_seconds" {
  type        = number
  description = "Seconds that a consumer group may be behind, as MSK estimates them"
  default     = 300
}
