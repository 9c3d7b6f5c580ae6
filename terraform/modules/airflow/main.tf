# Managed Airflow with our DAGs. A task is a verb of `lk`, and `lk` there is one file that runs it as a job of EMR.

data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}
data "aws_region" "this" {}

locals {
  account   = data.aws_caller_identity.this.account_id
  partition = data.aws_partition.this.partition
  region    = data.aws_region.this.name

  dags = fileset(var.dags, "**/{*.py,.airflowignore}")
}

resource "aws_s3_object" "dag" {
  for_each = local.dags

  bucket      = var.artifacts_bucket
  key         = "airflow/dags/${each.value}"
  source      = "${var.dags}/${each.value}"
  source_hash = filemd5("${var.dags}/${each.value}")
  kms_key_id  = var.lake_key_arn
}

resource "aws_s3_object" "lk" {
  bucket      = var.artifacts_bucket
  key         = "airflow/lk"
  source      = var.lk
  source_hash = filemd5(var.lk)
  kms_key_id  = var.lake_key_arn
}

# Brings the settings file and `lk` to each machine, before Airflow starts there.
resource "aws_s3_object" "startup" {
  bucket     = var.artifacts_bucket
  key        = "airflow/startup.sh"
  kms_key_id = var.lake_key_arn
  content = templatefile("${path.module}/startup.sh.tftpl", {
    settings = var.settings_uri
    lk       = "s3://${aws_s3_object.lk.bucket}/${aws_s3_object.lk.key}"
    version  = aws_s3_object.lk.source_hash # machines start anew with another `lk`
    region   = local.region
  })
}

resource "aws_mwaa_environment" "this" {
  name                  = var.name
  airflow_version       = var.airflow_version
  environment_class     = var.environment_class
  execution_role_arn    = aws_iam_role.airflow.arn
  kms_key               = var.lake_key_arn
  webserver_access_mode = "PRIVATE_ONLY"
  min_workers           = 1
  max_workers           = var.max_workers

  source_bucket_arn                = var.artifacts_bucket_arn
  dag_s3_path                      = "airflow/dags"
  startup_script_s3_path           = aws_s3_object.startup.key
  startup_script_s3_object_version = aws_s3_object.startup.version_id

  airflow_configuration_options = {
    "core.dags_are_paused_at_creation" = "True"
    "core.load_examples"               = "False"
  }

  network_configuration {
    subnet_ids         = slice(var.subnet_ids, 0, 2) # MWAA takes two, in two zones
    security_group_ids = [var.security_group_id]
  }

  logging_configuration {
    dag_processing_logs {
      enabled   = true
      log_level = "INFO"
    }
    scheduler_logs {
      enabled   = true
      log_level = "INFO"
    }
    task_logs {
      enabled   = true
      log_level = "INFO"
    }
    webserver_logs {
      enabled   = true
      log_level = "INFO"
    }
    worker_logs {
      enabled   = true
      log_level = "INFO"
    }
  }

  depends_on = [aws_iam_role_policy.airflow, aws_s3_object.dag]
}
