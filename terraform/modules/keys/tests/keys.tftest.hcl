mock_provider "aws" {
  source = "../../testing"
}

variables {
  name = "lk-test"
}

run "every_purpose_has_a_key_that_rotates" {
  assert {
    condition     = toset(keys(aws_kms_key.this)) == toset(["log", "lake", "secrets", "logs", "alarms", "images"])
    error_message = "each purpose must have a key of its own"
  }

  assert {
    condition     = alltrue([for key in aws_kms_key.this : key.enable_key_rotation && key.deletion_window_in_days == 30])
    error_message = "every key must rotate, and be had back for 30 days"
  }

  assert {
    condition     = aws_kms_alias.this["lake"].name == "alias/lk-test-lake"
    error_message = "an alias must say what its key is for"
  }
}

run "nobody_outside_of_the_account_may_use_a_key" {
  assert {
    condition = alltrue(flatten([for document in data.aws_iam_policy_document.this : [for statement in document.statement :
      [for who in statement.principals : who.identifiers == toset(["arn:aws:iam::123456789012:root"]) || who.type == "Service" && length(statement.condition) == 1]
    ]]))
    error_message = "a key is for this account, and for a service under a condition"
  }

  assert {
    condition     = toset([for purpose, document in data.aws_iam_policy_document.this : purpose if length(document.statement) > 1]) == toset(["logs", "lake", "alarms", "secrets"])
    error_message = "only these are used by a service itself"
  }

  assert {
    condition     = toset(flatten([for c in data.aws_iam_policy_document.this["lake"].statement[1].condition : c.values])) == toset(["arn:aws:logs:us-east-1:123456789012:log-group:airflow-lk-test-*"])
    error_message = "the lake's key is for Airflow's log groups, as MWAA asks for it, and no others"
  }
}

run "a_bad_number_of_days" {
  command = plan

  variables {
    deletion_days = 3
  }

  expect_failures = [var.deletion_days]
}
