locals {
  real = var.aws_endpoint == null # else an emulator, which knows no accounts
}

provider "aws" {
  region = var.region

  access_key                  = local.real ? null : "testing"
  secret_key                  = local.real ? null : "testing"
  skip_credentials_validation = !local.real
  skip_metadata_api_check     = local.real ? null : "true"
  skip_requesting_account_id  = false
  s3_use_path_style           = !local.real

  dynamic "endpoints" {
    for_each = local.real ? [] : [var.aws_endpoint]

    content {
      cloudtrail       = endpoints.value
      cloudwatch       = endpoints.value
      ec2              = endpoints.value
      ecr              = endpoints.value
      ecs              = endpoints.value
      elbv2            = endpoints.value
      emrserverless    = endpoints.value
      glue             = endpoints.value
      iam              = endpoints.value
      kafka            = endpoints.value
      kms              = endpoints.value
      logs             = endpoints.value
      mwaa             = endpoints.value
      route53          = endpoints.value
      s3               = endpoints.value
      secretsmanager   = endpoints.value
      servicediscovery = endpoints.value
      sns              = endpoints.value
      sts              = endpoints.value
    }
  }

  default_tags {
    tags = merge(var.tags, { instance = var.name, managed-by = "terraform" })
  }
}

# The same again, for the generator alone: terraform's mocks know no ephemeral resources, so tests mock only the other.
provider "aws" {
  alias  = "passwords"
  region = var.region

  access_key                  = local.real ? null : "testing"
  secret_key                  = local.real ? null : "testing"
  skip_credentials_validation = !local.real
  skip_metadata_api_check     = local.real ? null : "true"
  skip_requesting_account_id  = true # the generator belongs to no account

  dynamic "endpoints" {
    for_each = local.real ? [] : [var.aws_endpoint]

    content {
      secretsmanager = endpoints.value
    }
  }
}
