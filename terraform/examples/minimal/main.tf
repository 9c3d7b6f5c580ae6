# The least that must be said.

module "lk" {
  source = "../.."

  name            = "lk-minimal"
  certificate_arn = var.certificate_arn
  trino_host      = "trino.example.org"
}

variable "certificate_arn" {
  type        = string
  description = "ARN of the certificate of trino.example.org"
}

output "settings" {
  description = "The settings file of `lk`"
  value       = module.lk.settings
}
