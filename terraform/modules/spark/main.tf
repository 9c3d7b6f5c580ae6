# Speed, replay and batch jobs: EMR Serverless, in our own image.

data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}
data "aws_region" "this" {}

locals {
  account   = data.aws_caller_identity.this.account_id
  partition = data.aws_partition.this.partition
  region    = data.aws_region.this.name
}

resource "aws_emrserverless_application" "this" {
  name          = var.name
  type          = "SPARK"
  release_label = var.release
  architecture  = "X86_64"

  # Until an image was pushed, the application has EMR's own, in which no job of ours can start.
  dynamic "image_configuration" {
    for_each = var.image_tag == null ? [] : [var.image_tag]

    content {
      image_uri = "${aws_ecr_repository.jobs.repository_url}:${image_configuration.value}"
    }
  }

  network_configuration {
    subnet_ids         = var.subnet_ids
    security_group_ids = [var.security_group_id]
  }

  maximum_capacity {
    cpu    = "${var.max_cores} vCPU"
    memory = "${var.max_cores * 4} GB"
    disk   = "${var.max_cores * 20} GB"
  }

  auto_start_configuration {
    enabled = true
  }

  auto_stop_configuration {
    enabled              = true
    idle_timeout_minutes = 15
  }
}

resource "aws_ecr_repository" "jobs" {
  name                 = "${var.name}/jobs"
  image_tag_mutability = "IMMUTABLE"
  force_delete         = var.destroy_with_data

  encryption_configuration {
    encryption_type = "KMS"
    kms_key         = var.images_key_arn
  }

  image_scanning_configuration {
    scan_on_push = true
  }
}

# EMR Serverless itself pulls the image, and only for this application.
resource "aws_ecr_repository_policy" "jobs" {
  repository = aws_ecr_repository.jobs.name
  policy     = data.aws_iam_policy_document.pull.json
}

data "aws_iam_policy_document" "pull" {
  statement {
    sid     = "EmrServerless"
    actions = ["ecr:BatchGetImage", "ecr:DescribeImages", "ecr:GetDownloadUrlForLayer"]

    principals {
      type        = "Service"
      identifiers = ["emr-serverless.amazonaws.com"]
    }

    condition {
      test     = "StringLike"
      variable = "aws:SourceArn"
      values   = ["arn:${local.partition}:emr-serverless:${local.region}:${local.account}:/applications/*"]
    }
  }
}
