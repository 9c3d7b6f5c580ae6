variable "name" {
  type        = string
  description = "Name of the instance, and of the environment"
}

variable "airflow_version" {
  type        = string
  description = "Airflow version that MWAA offers, 3.2 or newer. The DAGs are tested with the default"
  default     = "3.3.2"

  validation {
    condition     = can(regex("^3\\.([2-9]|[1-9][0-9]+)\\.[0-9]+$", var.airflow_version))
    error_message = "airflow_version must be 3.2.0 or a newer 3.x.y: older ones lack names that the DAGs import, so no DAG would exist."
  }
}

variable "environment_class" {
  type        = string
  description = "Size of schedulers and workers"
  default     = "mw1.small"

  validation {
    condition     = can(regex("^mw1\\.(small|medium|large|xlarge|2xlarge)$", var.environment_class))
    error_message = "environment_class must be mw1.small, medium, large, xlarge or 2xlarge."
  }
}

variable "max_workers" {
  type        = number
  description = "Maximum workers; each runs several verbs at once"
  default     = 2
}

variable "dags" {
  type        = string
  description = "Folder of the DAGs"
}

variable "lk" {
  type        = string
  description = "File that is `lk` on Airflow's machines: infra/emr.py, which runs a verb as a job"
}

variable "settings_uri" {
  type        = string
  description = "Location of the settings file of `lk`, s3://…"
}

variable "artifacts_bucket" {
  type        = string
  description = "Name of the bucket of DAGs and settings"
}

variable "artifacts_bucket_arn" {
  type        = string
  description = "ARN of that bucket"
}

variable "lake_bucket_arn" {
  type        = string
  description = "ARN of the lake's bucket"
}

variable "lake_key_arn" {
  type        = string
  description = "ARN of the key of lake and artifacts"
}

variable "application_arn" {
  type        = string
  description = "ARN of the EMR Serverless application in which jobs run"
}

variable "job_role_arn" {
  type        = string
  description = "ARN of the role of jobs"
}

variable "subnet_ids" {
  type        = list(string)
  description = "Ids of the subnets, of which the first two are used"

  validation {
    condition     = length(var.subnet_ids) >= 2
    error_message = "subnet_ids must be two or more."
  }
}

variable "security_group_id" {
  type        = string
  description = "Id of the security group"
}
