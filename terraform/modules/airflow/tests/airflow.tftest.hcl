mock_provider "aws" {
  source = "../../testing"
}

variables {
  name                 = "lk-test"
  dags                 = "../../../dags"
  lk                   = "../../../dags/lk_operators.py" # any file
  settings_uri         = "s3://artifacts/settings/lk.toml"
  artifacts_bucket     = "artifacts"
  artifacts_bucket_arn = "arn:aws:s3:::artifacts"
  lake_bucket_arn      = "arn:aws:s3:::lake"
  lake_key_arn         = "arn:aws:kms:us-east-1:123456789012:key/lake"
  application_arn      = "arn:aws:emr-serverless:us-east-1:123456789012:/applications/00mocked"
  job_role_arn         = "arn:aws:iam::123456789012:role/lk-test-job"
  subnet_ids           = ["subnet-a", "subnet-b", "subnet-c"]
  security_group_id    = "sg-airflow"
}

run "our_dags_in_a_private_airflow" {
  assert {
    condition     = contains(output.dags, "lambda_batch.py") && contains(output.dags, "lk_operators.py") && contains(output.dags, ".airflowignore")
    error_message = "all files of dags/ are uploaded"
  }

  assert {
    condition     = aws_s3_object.dag["lambda_batch.py"].key == "airflow/dags/lambda_batch.py" && aws_s3_object.dag["lambda_batch.py"].kms_key_id == var.lake_key_arn
    error_message = "into the folder that Airflow reads"
  }

  assert {
    condition     = aws_mwaa_environment.this.webserver_access_mode == "PRIVATE_ONLY" && aws_mwaa_environment.this.kms_key == var.lake_key_arn && startswith(aws_mwaa_environment.this.airflow_version, "3.")
    error_message = "private, encrypted, of Airflow 3"
  }

  assert {
    condition     = aws_mwaa_environment.this.network_configuration[0].subnet_ids == toset(["subnet-a", "subnet-b"])
    error_message = "two subnets"
  }

  assert {
    condition     = aws_mwaa_environment.this.airflow_configuration_options["core.dags_are_paused_at_creation"] == "True"
    error_message = "a person unpauses the DAGs"
  }

  assert {
    condition     = strcontains(aws_s3_object.startup.content, "s3://artifacts/settings/lk.toml") && strcontains(aws_s3_object.startup.content, "s3://artifacts/airflow/lk")
    error_message = "each machine gets the settings file and lk"
  }

  assert {
    condition     = strcontains(aws_s3_object.startup.content, "\"$${MWAA_AIRFLOW_COMPONENT:-}\" = scheduler") && strcontains(aws_s3_object.startup.content, "airflow pools set lk_publish 1 ")
    error_message = "the scheduler makes the pool of publications"
  }
}

run "airflow_starts_jobs_in_one_application_as_one_role" {
  assert {
    condition     = toset(flatten([for s in data.aws_iam_policy_document.verbs.statement : tolist(s.resources) if contains(s.actions, "iam:PassRole")])) == toset([var.job_role_arn])
    error_message = "one role is passed"
  }

  assert {
    condition     = toset(flatten([for s in data.aws_iam_policy_document.verbs.statement : tolist(s.resources) if contains(s.actions, "emr-serverless:StartJobRun")])) == toset([var.application_arn])
    error_message = "jobs run in one application"
  }

  assert {
    condition     = toset(flatten([for s in data.aws_iam_policy_document.verbs.statement : tolist(s.resources) if contains(s.actions, "s3:GetObject") || contains(s.actions, "s3:DeleteObject")])) == toset(["arn:aws:s3:::lake/lake/_results/*"])
    error_message = "Airflow touches no table"
  }

  assert {
    condition     = toset(flatten([for s in data.aws_iam_policy_document.airflow.statement : tolist(s.actions) if contains(s.resources, "*")])) == toset(["s3:GetAccountPublicAccessBlock", "cloudwatch:PutMetricData"])
    error_message = "only two actions know no resource"
  }
}

run "bad_variables" {
  command = plan

  variables {
    airflow_version   = "2.10.3"
    environment_class = "huge"
    subnet_ids        = ["subnet-a"]
  }

  expect_failures = [var.airflow_version, var.environment_class, var.subnet_ids]
}

run "an_airflow_that_cannot_import_the_dags" {
  command = plan

  variables {
    airflow_version = "3.1.8"
  }

  expect_failures = [var.airflow_version]
}

run "the_oldest_airflow_that_can" {
  command = plan

  variables {
    airflow_version = "3.2.0"
  }
}
