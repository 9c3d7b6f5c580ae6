# What the mocked AWS answers where a value's form matters: the provider checks ARNs and policies even then.
# A policy document must stay a policy; tests of policies read the statements of the data source.

mock_data "aws_caller_identity" {
  defaults = {
    account_id = "123456789012"
  }
}

mock_data "aws_partition" {
  defaults = {
    partition = "aws"
  }
}

mock_data "aws_region" {
  defaults = {
    name = "us-east-1"
  }
}

mock_data "aws_availability_zones" {
  defaults = {
    names = ["us-east-1a", "us-east-1b", "us-east-1c", "us-east-1d"]
  }
}

mock_data "aws_iam_policy_document" {
  defaults = {
    json = "{\"Version\":\"2012-10-17\",\"Statement\":[]}"
  }
}

mock_resource "aws_kms_key" {
  defaults = {
    arn    = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000001"
    key_id = "00000000-0000-0000-0000-000000000001"
  }
}

mock_resource "aws_iam_role" {
  defaults = {
    arn = "arn:aws:iam::123456789012:role/mocked"
  }
}

mock_resource "aws_cloudwatch_log_group" {
  defaults = {
    arn = "arn:aws:logs:us-east-1:123456789012:log-group:mocked"
  }
}

mock_resource "aws_sns_topic" {
  defaults = {
    arn = "arn:aws:sns:us-east-1:123456789012:mocked"
  }
}

mock_resource "aws_s3_bucket" {
  defaults = {
    arn = "arn:aws:s3:::mocked"
  }
}

mock_resource "aws_msk_cluster" {
  defaults = {
    arn                          = "arn:aws:kafka:us-east-1:123456789012:cluster/mocked/00000000-0000-0000-0000-000000000002-1"
    bootstrap_brokers_sasl_scram = "b-1.mocked:9096,b-2.mocked:9096,b-3.mocked:9096"
  }
}

mock_resource "aws_msk_configuration" {
  defaults = {
    arn             = "arn:aws:kafka:us-east-1:123456789012:configuration/mocked/00000000-0000-0000-0000-000000000003-1"
    latest_revision = 1
  }
}

mock_resource "aws_secretsmanager_secret" {
  defaults = {
    arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:mocked-abcdef"
  }
}

mock_resource "aws_emrserverless_application" {
  defaults = {
    id  = "00mocked"
    arn = "arn:aws:emr-serverless:us-east-1:123456789012:/applications/00mocked"
  }
}

mock_resource "aws_ecr_repository" {
  defaults = {
    arn            = "arn:aws:ecr:us-east-1:123456789012:repository/mocked"
    repository_url = "123456789012.dkr.ecr.us-east-1.amazonaws.com/mocked"
  }
}

mock_resource "aws_lb" {
  defaults = {
    arn      = "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/mocked/0000000000000001"
    dns_name = "internal-mocked.us-east-1.elb.amazonaws.com"
    zone_id  = "Z0000000000000"
  }
}

mock_resource "aws_lb_target_group" {
  defaults = {
    arn = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/mocked/0000000000000001"
  }
}

mock_resource "aws_service_discovery_service" {
  defaults = {
    arn = "arn:aws:servicediscovery:us-east-1:123456789012:service/srv-mocked"
  }
}

mock_resource "aws_ecs_cluster" {
  defaults = {
    id = "arn:aws:ecs:us-east-1:123456789012:cluster/mocked"
  }
}
