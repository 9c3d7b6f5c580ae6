# The one settings file: with it `lk` runs here as it does on one machine. It holds no secret.

data "aws_region" "this" {}

locals {
  secrets      = "/tmp/lk" # a job writes the passwords there, from the secrets
  settings_uri = "s3://${module.lake.buckets["artifacts"]}/settings/lk.toml"

  settings = templatefile("${path.module}/lk.toml.tftpl", {
    bootstrap       = module.msk.bootstrap
    user            = module.msk.user
    secrets         = local.secrets
    lake            = module.lake.lake
    checkpoints     = module.lake.checkpoints
    region          = data.aws_region.this.name
    trino_host      = module.trino.host
    emr_application = module.spark.application_id
    emr_role        = module.spark.job_role_arn
    emr_settings    = local.settings_uri
    emr_secret      = module.msk.secret_arn
    trino_secret    = module.trino.users_secret_arn
    name            = var.name
    tiered_hours    = module.msk.local_hours
  })
}

resource "aws_s3_object" "settings" {
  bucket     = module.lake.buckets["artifacts"]
  key        = "settings/lk.toml"
  content    = local.settings
  kms_key_id = module.keys.arns["lake"]
}
