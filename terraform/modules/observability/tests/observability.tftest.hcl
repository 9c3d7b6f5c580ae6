mock_provider "aws" {
  source = "../../testing"
}

variables {
  name           = "lk-test"
  cluster_name   = "lk-test"
  logs_key_arn   = "arn:aws:kms:us-east-1:123456789012:key/logs"
  alarms_key_arn = "arn:aws:kms:us-east-1:123456789012:key/alarms"
}

run "logs_are_encrypted_and_kept" {
  assert {
    condition     = output.log_groups == { for what in ["brokers", "flow", "jobs", "status", "trino"] : what => "/lk/lk-test/${what}" }
    error_message = "log groups are called /lk/NAME/WHAT"
  }

  assert {
    condition     = alltrue([for group in aws_cloudwatch_log_group.this : group.kms_key_id == var.logs_key_arn && group.retention_in_days == 365])
    error_message = "under our key, for a year"
  }

  assert {
    condition     = aws_sns_topic.alarms.kms_master_key_id == var.alarms_key_arn
    error_message = "alarms are encrypted"
  }
}

run "silence_is_an_alarm" {
  assert {
    condition = { for field, alarm in aws_cloudwatch_metric_alarm.status : field => "${alarm.threshold} ${alarm.treat_missing_data}" } == {
      ledger_off        = "0 breaching"
      epoch_age_seconds = "120 breaching"
      quarantine_rate   = "0.01 notBreaching"
    }
    error_message = "no line of status is as bad as a wrong one"
  }

  assert {
    condition     = { for field, filter in aws_cloudwatch_log_metric_filter.status : field => filter.pattern } == { for field in ["ledger_off", "epoch_age_seconds", "quarantine_rate"] : field => "{ $.${field} >= 0 }" }
    error_message = "each field of a status line is a metric"
  }

  assert {
    condition = alltrue([for alarm in concat(values(aws_cloudwatch_metric_alarm.status), values(aws_cloudwatch_metric_alarm.lag), [aws_cloudwatch_metric_alarm.replicas]) :
    alarm.alarm_actions == toset([aws_sns_topic.alarms.arn]) && alarm.ok_actions == toset([aws_sns_topic.alarms.arn])])
    error_message = "every alarm tells, and tells when it is over"
  }
}

run "lag_is_of_this_cluster" {
  assert {
    condition     = toset([for alarm in aws_cloudwatch_metric_alarm.lag : tolist(alarm.metric_query)[0].expression]) == toset([for metric in ["MaxOffsetLag", "EstimatedMaxTimeLag"] : "SELECT MAX(${metric}) FROM \"AWS/Kafka\" WHERE \"Cluster Name\" = 'lk-test'"])
    error_message = "the worst group of this cluster"
  }

  assert {
    condition     = length(output.alarms) == 6
    error_message = "six alarms"
  }
}

run "bad_variables" {
  command = plan

  variables {
    log_days        = 7
    quarantine_rate = 2
    emails          = ["nobody"]
  }

  expect_failures = [var.log_days, var.quarantine_rate, var.emails]
}
