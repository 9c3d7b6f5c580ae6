variable "name" {
  type        = string
  description = "Name of the instance and of all resources"
}

variable "cidr" {
  type        = string
  description = "Address range of the VPC, from /16 to /22"
  default     = "10.20.0.0/16"

  validation {
    condition     = can(cidrnetmask(var.cidr)) && try(tonumber(split("/", var.cidr)[1]) >= 16 && tonumber(split("/", var.cidr)[1]) <= 22, false)
    error_message = "cidr must be an IPv4 range from /16 to /22."
  }
}

variable "zones" {
  type        = number
  description = "Availability zones, each with one private subnet"
  default     = 3

  validation {
    condition     = contains([2, 3], var.zones)
    error_message = "zones must be 2 or 3."
  }
}

variable "clients" {
  type        = map(string)
  description = "Who may query: a name => an address range (a VPN, a peered network). Never the whole internet"
  default     = {}

  validation {
    condition     = alltrue([for range in values(var.clients) : can(cidrnetmask(range)) && try(tonumber(split("/", range)[1]) >= 8, false)])
    error_message = "Each of clients must be an IPv4 range of /8 or smaller; 0.0.0.0/0 is the whole internet."
  }
}

variable "endpoints" {
  type        = set(string)
  description = "AWS services that are reached through an interface endpoint"
  default     = ["ecr.api", "ecr.dkr", "emr-serverless", "glue", "kms", "logs", "monitoring", "secretsmanager", "sqs", "sts"]
}

variable "airflow_endpoints" {
  type        = set(string)
  description = "The same for Airflow; null: those that MWAA needs in a network without internet"
  default     = ["airflow.api", "airflow.env", "airflow.ops"]
  nullable    = false
}

variable "bucket_arns" {
  type        = set(string)
  description = "ARNs of the only buckets that are reached from here, beside those of ECR's images"
}

variable "flow_log_group_arn" {
  type        = string
  description = "ARN of the log group of the flow logs"
}
