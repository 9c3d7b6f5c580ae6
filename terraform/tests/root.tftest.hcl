mock_provider "aws" {
  source = "./testing"
}

variables {
  name               = "lk-test"
  certificate_arn    = "arn:aws:acm:us-east-1:123456789012:certificate/c"
  trino_host         = "trino.example.org"
  destroy_with_data  = true                      # a test destroys what it made
  airflow_lk         = "../dags/lk_operators.py" # any file
  generate_passwords = false                     # mocks know no ephemeral resources; tests/scenarios/terraform/test_apply.py makes real ones
  aws_endpoint       = "http://127.0.0.1:1"      # nobody is asked: so the generator's provider needs no account either
}

run "the_defaults_are_safe" {
  assert {
    condition     = output.settings == <<-TEXT
      # Written by terraform; edit terraform/lk.toml.tftpl.
      bootstrap = "b-1.mocked:9096,b-2.mocked:9096,b-3.mocked:9096"
      kafka_security = "sasl_ssl"
      kafka_user = "lk"
      kafka_password_file = "/tmp/lk/kafka-password"
      kafka_replication = 3
      kafka_tiered_hours = 72
      lake = "s3a://${output.buckets["lake"]}/lake"
      checkpoints = "s3a://${output.buckets["lake"]}/checkpoints"
      s3_region = "us-east-1"
      trino_host = "trino.example.org"
      trino_port = 443
      trino_tls = true
      trino_password_file = "/tmp/lk/trino-password"
      trino_reader_password_file = "/tmp/lk/trino-reader-password"
      emr_application = "00mocked"
      emr_role = "arn:aws:iam::123456789012:role/mocked"
      emr_settings = "${output.settings_uri}"
      emr_secret = "${output.kafka_secret_arn}"
      emr_trino_secret = "${output.trino_secret_arn}"
      emr_logs = "/lk/lk-test"
    TEXT
    error_message = "the settings file is all that `lk` needs, without a secret"
  }

  assert {
    condition     = aws_s3_object.settings.key == "settings/lk.toml" && aws_s3_object.settings.content == output.settings
    error_message = "it lies where jobs take it from"
  }

  assert {
    condition     = output.trino == "https://trino.example.org:443" && output.airflow != null
    error_message = "Trino by TLS, and an Airflow"
  }
}

run "without_airflow" {
  command = plan

  variables {
    airflow = false
  }

  assert {
    condition     = length(module.airflow) == 0 && output.airflow == null
    error_message = "no Airflow where none is wanted"
  }
}

run "what_a_bad_variable_gets" {
  command = plan

  variables {
    name = "LK_test"
  }

  expect_failures = [var.name]
}
