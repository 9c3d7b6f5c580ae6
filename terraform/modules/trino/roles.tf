# Two roles: what ECS needs to start a task, and what Trino itself may do: read tables, and keep the catalog.

data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [local.account]
    }
  }
}

resource "aws_iam_role" "start" {
  name               = "${var.name}-trino-start"
  assume_role_policy = data.aws_iam_policy_document.trust.json
}

resource "aws_iam_role_policy" "start" {
  name   = "start"
  role   = aws_iam_role.start.id
  policy = data.aws_iam_policy_document.start.json
}

data "aws_iam_policy_document" "start" {
  #checkov:skip=CKV_AWS_356:ecr:GetAuthorizationToken knows no resource
  statement {
    sid       = "Login"
    actions   = ["ecr:GetAuthorizationToken"]
    resources = ["*"] # this action knows no resource
  }

  statement {
    sid       = "Image"
    actions   = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
    resources = [aws_ecr_repository.trino.arn]
  }

  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${var.log_group_arn}:*"] # the streams of this one group
  }

  statement {
    sid       = "Secret"
    actions   = ["secretsmanager:GetSecretValue"]
    resources = [aws_secretsmanager_secret.this["shared"].arn, aws_secretsmanager_secret.this["passwords"].arn]
  }

  statement {
    sid       = "SecretKey"
    actions   = ["kms:Decrypt"]
    resources = [var.secrets_key_arn]
  }
}

resource "aws_iam_role" "trino" {
  name               = "${var.name}-trino"
  assume_role_policy = data.aws_iam_policy_document.trust.json
}

resource "aws_iam_role_policy" "trino" {
  name   = "trino"
  role   = aws_iam_role.trino.id
  policy = data.aws_iam_policy_document.trino.json
}

data "aws_iam_policy_document" "trino" {
  statement {
    sid       = "Bucket"
    actions   = ["s3:GetBucketLocation", "s3:ListBucket"]
    resources = [var.lake_bucket_arn]
  }

  statement {
    sid       = "Tables"
    actions   = ["s3:GetObject"]                  # it never writes a table
    resources = ["${var.lake_bucket_arn}/lake/*"] # every table
  }

  statement {
    sid       = "Key"
    actions   = ["kms:Decrypt"]
    resources = [var.lake_key_arn]
  }

  statement {
    sid = "Catalog"
    actions = [
      "glue:CreateTable", "glue:DeleteTable", "glue:GetDatabase", "glue:GetTable", "glue:GetTables", "glue:UpdateTable",
      "glue:GetDatabases", "glue:GetTableVersions",
    ]
    resources = concat(
      ["arn:${local.partition}:glue:${local.region}:${local.account}:catalog"],
      [for database in var.databases : "arn:${local.partition}:glue:${local.region}:${local.account}:database/${database}"],
      [for database in var.databases : "arn:${local.partition}:glue:${local.region}:${local.account}:table/${database}/*"], # of these databases
    )
  }
}
