mock_provider "aws" {
  source = "../../testing"
}

variables {
  name              = "lk-test"
  subnet_ids        = ["subnet-a", "subnet-b", "subnet-c"]
  security_group_id = "sg-jobs"
  bucket_arns       = { lake = "arn:aws:s3:::lake", artifacts = "arn:aws:s3:::artifacts", access = "arn:aws:s3:::access" }
  log_group_arns    = { jobs = "arn:aws:logs:us-east-1:123456789012:log-group:jobs", status = "arn:aws:logs:us-east-1:123456789012:log-group:status" }
  lake_key_arn      = "arn:aws:kms:us-east-1:123456789012:key/lake"
  images_key_arn    = "arn:aws:kms:us-east-1:123456789012:key/images"
  secrets_key_arn   = "arn:aws:kms:us-east-1:123456789012:key/secrets"
  kafka_secret_arn  = "arn:aws:secretsmanager:us-east-1:123456789012:secret:AmazonMSK_lk-test_lk"
  trino_secret_arn  = "arn:aws:secretsmanager:us-east-1:123456789012:secret:lk-test/trino-users"
}

run "before_the_first_push" {
  assert {
    condition     = length(aws_emrserverless_application.this.image_configuration) == 0
    error_message = "an image that is not there must not be named"
  }
}

run "our_own_image_inside_the_network" {
  variables {
    image_tag = "2026-11-23"
  }

  assert {
    condition     = aws_emrserverless_application.this.image_configuration[0].image_uri == "123456789012.dkr.ecr.us-east-1.amazonaws.com/mocked:2026-11-23"
    error_message = "our own image, by its tag"
  }

  assert {
    condition     = aws_emrserverless_application.this.type == "SPARK" && aws_emrserverless_application.this.network_configuration[0].security_group_ids == toset(["sg-jobs"])
    error_message = "Spark, in the group of jobs"
  }

  assert {
    condition     = aws_emrserverless_application.this.maximum_capacity[0].cpu == "32 vCPU" && aws_emrserverless_application.this.maximum_capacity[0].memory == "128 GB"
    error_message = "what can be spent has a limit"
  }

  assert {
    condition     = aws_ecr_repository.jobs.image_tag_mutability == "IMMUTABLE" && aws_ecr_repository.jobs.encryption_configuration[0].kms_key == var.images_key_arn && aws_ecr_repository.jobs.image_scanning_configuration[0].scan_on_push
    error_message = "images are scanned, encrypted, and a tag stays what it was"
  }
}

run "a_job_may_touch_the_lake_and_nothing_else" {
  assert {
    condition     = toset(flatten([for s in data.aws_iam_policy_document.job.statement : tolist(s.resources) if anytrue([for a in s.actions : a == "s3:PutObject" || a == "s3:DeleteObject"])])) == toset(["arn:aws:s3:::lake/*"])
    error_message = "jobs write the lake only"
  }

  assert {
    condition     = alltrue([for s in data.aws_iam_policy_document.job.statement : !contains(s.resources, "*") && alltrue([for a in s.actions : !strcontains(a, "*")])])
    error_message = "every action and every resource is named"
  }

  assert {
    condition     = toset(flatten([for s in data.aws_iam_policy_document.job.statement : tolist(s.resources) if contains(s.actions, "iam:PassRole")])) == toset([aws_iam_role.job.arn])
    error_message = "a job starts jobs of its own kind only"
  }

  assert {
    condition     = toset(flatten([for s in data.aws_iam_policy_document.trust.statement : [for p in s.principals : tolist(p.identifiers)]])) == toset(["emr-serverless.amazonaws.com"])
    error_message = "only EMR Serverless takes the role"
  }

  assert {
    condition     = alltrue([for s in data.aws_iam_policy_document.trust.statement : anytrue([for c in s.condition : c.variable == "aws:SourceAccount"])])
    error_message = "and only for this account"
  }
}

run "bad_variables" {
  command = plan

  variables {
    image_tag = "latest"
    max_cores = 2
  }

  expect_failures = [var.image_tag, var.max_cores]
}
