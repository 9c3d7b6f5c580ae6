# What Airflow may do: run itself, and jobs in the one application as the one role.

resource "aws_iam_role" "airflow" {
  name               = "${var.name}-airflow"
  assume_role_policy = data.aws_iam_policy_document.trust.json
}

data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["airflow.amazonaws.com", "airflow-env.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [local.account]
    }
  }
}

resource "aws_iam_role_policy" "airflow" {
  name   = "airflow"
  role   = aws_iam_role.airflow.id
  policy = data.aws_iam_policy_document.airflow.json
}

data "aws_iam_policy_document" "airflow" {
  #checkov:skip=CKV_AWS_356:two actions know no resource, each with its reason beside it
  #checkov:skip=CKV_AWS_111:cloudwatch:PutMetricData knows no resource; its condition names the one namespace
  source_policy_documents = [data.aws_iam_policy_document.verbs.json]

  statement {
    sid       = "Itself"
    actions   = ["airflow:PublishMetrics"]
    resources = ["arn:${local.partition}:airflow:${local.region}:${local.account}:environment/${var.name}"]
  }

  statement {
    sid       = "Bucket"
    actions   = ["s3:GetBucketLocation", "s3:GetBucketPublicAccessBlock", "s3:GetEncryptionConfiguration", "s3:ListBucket", "s3:ListBucketVersions"]
    resources = [var.artifacts_bucket_arn]
  }

  statement {
    sid       = "AccountsBlock"
    actions   = ["s3:GetAccountPublicAccessBlock"]
    resources = ["*"] # this action knows no resource
  }

  statement {
    sid       = "Files"
    actions   = ["s3:GetObject", "s3:GetObjectVersion"]
    resources = ["${var.artifacts_bucket_arn}/airflow/*", "${var.artifacts_bucket_arn}/settings/*"] # by prefix
  }

  statement {
    sid = "Logs"
    actions = [
      "logs:CreateLogGroup", "logs:CreateLogStream", "logs:GetLogEvents", "logs:GetLogGroupFields", "logs:GetLogRecord",
      "logs:GetQueryResults", "logs:PutLogEvents",
    ]
    resources = ["arn:${local.partition}:logs:${local.region}:${local.account}:log-group:airflow-${var.name}-*"] # its groups, which MWAA makes itself
  }

  statement {
    sid       = "FindLogs"
    actions   = ["logs:DescribeLogGroups"]
    resources = ["arn:${local.partition}:logs:${local.region}:${local.account}:log-group:*"] # a list cannot be asked for one group
  }

  statement {
    sid       = "Metrics"
    actions   = ["cloudwatch:PutMetricData"]
    resources = ["*"] # this action knows no resource; its namespace is what limits it

    condition {
      test     = "StringEquals"
      variable = "cloudwatch:namespace"
      values   = ["AmazonMWAA"]
    }
  }

  statement {
    sid = "Queue"
    actions = [
      "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl",
      "sqs:ReceiveMessage", "sqs:SendMessage",
    ]
    resources = ["arn:${local.partition}:sqs:${local.region}:*:airflow-celery-*"] # MWAA's queue is in an account of AWS that nobody knows beforehand
  }
}

# What `lk` does in a task: it runs a job, and takes what that left in the lake.
data "aws_iam_policy_document" "verbs" {
  statement {
    sid       = "Results"
    actions   = ["s3:DeleteObject", "s3:GetObject"]
    resources = ["${var.lake_bucket_arn}/lake/_results/*"] # what jobs leave for it
  }

  statement {
    sid       = "NoResult"
    actions   = ["s3:ListBucket"] # without it, what is not there looks forbidden
    resources = [var.lake_bucket_arn]

    condition {
      test     = "StringLike"
      variable = "s3:prefix"
      values   = ["lake/_results/*"]
    }
  }

  statement {
    sid       = "Key"
    actions   = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey"]
    resources = [var.lake_key_arn]
  }

  statement {
    sid       = "StartJobs"
    actions   = ["emr-serverless:GetApplication", "emr-serverless:ListJobRuns", "emr-serverless:StartApplication", "emr-serverless:StartJobRun"]
    resources = [var.application_arn]
  }

  statement {
    sid       = "WatchJobs"
    actions   = ["emr-serverless:CancelJobRun", "emr-serverless:GetJobRun"]
    resources = ["${var.application_arn}/jobruns/*"] # the jobs of this one application
  }

  statement {
    sid       = "JobRole"
    actions   = ["iam:PassRole"]
    resources = [var.job_role_arn]

    condition {
      test     = "StringEquals"
      variable = "iam:PassedToService"
      values   = ["emr-serverless.amazonaws.com"]
    }
  }
}
