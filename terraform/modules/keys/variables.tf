variable "name" {
  type        = string
  description = "Name of the instance; aliases begin with it"
}

variable "purposes" {
  type        = map(string)
  description = "Purpose of each key => its description. `logs`, `lake`, `alarms` and `secrets` also permit the AWS service that needs them"
  default = {
    log     = "the Kafka log at rest"
    lake    = "tables, checkpoints, settings and DAGs in S3"
    secrets = "secrets; MSK needs a key of ours for SASL/SCRAM"
    logs    = "log groups"
    alarms  = "the topic that alarms go to"
    images  = "container images"
  }
}

variable "deletion_days" {
  type        = number
  description = "Days in which the deletion of a key can be cancelled"
  default     = 30

  validation {
    condition     = var.deletion_days >= 7 && var.deletion_days <= 30
    error_message = "deletion_days must be from 7 to 30."
  }
}
