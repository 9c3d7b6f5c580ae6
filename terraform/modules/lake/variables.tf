variable "name" {
  type        = string
  description = "Name of the instance; buckets are called NAME-ACCOUNT-USE"
}

variable "key_arn" {
  type        = string
  description = "ARN of the key that encrypts lake and artifacts"
}

variable "schemas" {
  type        = map(string)
  description = "Schemas of Trino's catalog `lake` => what they hold"
  default = {
    archive = "raw events"
    batch   = "builds"
    control = "what the gate found, comparisons"
    pinned  = "views as they were at a publication"
    serving = "the views that people query"
    speed   = "partial results of runs"
  }
}

variable "days_deleted_is_kept" {
  type        = number
  description = "Days for which a deleted or replaced object can be restored"
  default     = 30

  validation {
    condition     = var.days_deleted_is_kept >= 1
    error_message = "days_deleted_is_kept must be at least 1."
  }
}

variable "archive_lock_days" {
  type        = number
  description = "Days for which nobody can delete a copy of what was archived, from when it was archived; 0: no copy"
  default     = 0

  validation {
    condition     = var.archive_lock_days >= 0
    error_message = "archive_lock_days must be 0 or more."
  }
}

variable "days_access_logs_are_kept" {
  type        = number
  description = "Days for which access logs are kept"
  default     = 365
}

variable "destroy_with_data" {
  type        = bool
  description = "Whether `terraform destroy` may delete buckets that hold data"
  default     = false
}

variable "lifecycle_rules" {
  type        = bool
  description = "Whether buckets get their lifecycle rules; false only against an emulator of AWS, where they take a minute"
  default     = true
}
