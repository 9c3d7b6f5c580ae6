variable "name" {
  type        = string
  description = "Name of the instance; names of resources are it or begin with it"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,18}[a-z0-9]$", var.name))
    error_message = "name must be 3 to 20 small letters, digits and hyphens, begin with a letter and not end with a hyphen."
  }
}

variable "region" {
  type        = string
  description = "AWS region; one instance per account and region, because there is one Glue catalog"
  default     = "us-east-1"
}

variable "certificate_arn" {
  type        = string
  description = "ARN of the certificate of `trino_host`"
}

variable "trino_host" {
  type        = string
  description = "Name of that certificate, under which Trino is reached"
}

variable "clients" {
  type        = map(string)
  description = "Who may query: a name => an address range. Empty: only jobs and Airflow"
  default     = {}
}

variable "alarm_emails" {
  type        = set(string)
  description = "E-mail addresses that receive alarms"
  default     = []
}

variable "image_tag" {
  type        = string
  description = "Tag under which both images were pushed; null before the first push"
  default     = null
}

variable "cidr" {
  type        = string
  description = "Address range of the VPC"
  default     = "10.20.0.0/16"
}

variable "zones" {
  type        = number
  description = "Availability zones, 2 or 3"
  default     = 3
}

variable "brokers" {
  type        = number
  description = "Brokers: three or more, a multiple of the zones"
  default     = 3
}

variable "broker_type" {
  type        = string
  description = "Type of the brokers"
  default     = "kafka.m7g.large"
}

variable "broker_volume_gib" {
  type        = number
  description = "Disk of each broker in GiB"
  default     = 200
}

variable "kafka_version" {
  type        = string
  description = "Kafka version, in MSK's notation"
  default     = "3.9.x.kraft"
}

variable "emr_release" {
  type        = string
  description = "EMR's release; the base of the jobs' image must be the same"
  default     = "emr-spark-8.0.0"
}

variable "spark_max_cores" {
  type        = number
  description = "Maximum cores of all jobs together"
  default     = 32
}

variable "trino_workers" {
  type        = number
  description = "Number of Trino workers, without the coordinator"
  default     = 2
}

variable "trino_cpu" {
  type        = number
  description = "CPU units of each of Trino's tasks; 1024 are one core"
  default     = 4096
}

variable "trino_memory" {
  type        = number
  description = "Memory of each of Trino's tasks in MiB"
  default     = 16384
}

variable "airflow" {
  type        = bool
  description = "Whether to create Airflow; without it, another scheduler runs the verbs"
  default     = true
}

variable "airflow_version" {
  type        = string
  description = "Airflow version that MWAA offers, 3.2 or newer"
  default     = "3.3.2"
}

variable "airflow_class" {
  type        = string
  description = "Size of Airflow's schedulers and workers"
  default     = "mw1.small"
}

variable "airflow_lk" {
  type        = string
  description = "File that is `lk` on Airflow's machines; null: infra/emr.py of this project"
  default     = null
}

variable "log_days" {
  type        = number
  description = "Days for which logs are kept"
  default     = 365
}

variable "days_deleted_is_kept" {
  type        = number
  description = "Days for which a deleted object of the lake can be restored"
  default     = 30
}

variable "archive_lock_days" {
  type        = number
  description = "Days for which nobody can delete a copy of what was archived, from when it was archived; 0: no copy"
  default     = 0
}

variable "epoch_age_seconds" {
  type        = number
  description = "Seconds after which the newest epoch is too old and an alarm fires"
  default     = 120
}

variable "destroy_with_data" {
  type        = bool
  description = "Whether `terraform destroy` may delete data, images and the load balancer. Never in production"
  default     = false
}

variable "generate_passwords" {
  type        = bool
  description = "Whether passwords are generated; false: you set the values of the secrets yourself"
  default     = true
}

variable "password_version" {
  type        = number
  description = "Raise it by one to generate new passwords at the next apply (docs/runbooks/rotate-keys.md)"
  default     = 1
}

variable "tags" {
  type        = map(string)
  description = "Additional tags for all resources: an owner, a cost centre"
  default     = {}
}

variable "aws_endpoint" {
  type        = string
  description = "URL of an emulator of AWS for tests; null: AWS itself"
  default     = null
}
