# What `lk status` says of each view, and what MSK says of consumer groups.

locals {
  # Field of a status line => from where on it is wrong, and what no lines at all mean.
  fields = {
    ledger_off = {
      limit   = 0
      missing = "breaching" # nobody counts: that is as bad as a wrong count
      means   = "a view does not account for every record: docs/architecture.md, the ledger; `lk status`"
    }
    epoch_age_seconds = {
      limit   = var.epoch_age_seconds
      missing = "breaching"
      means   = "the speed layer has stopped: `lk status`, `lk speed status`, `lk speed start`"
    }
    quarantine_rate = {
      limit   = var.quarantine_rate
      missing = "notBreaching" # the two above tell of missing lines already
      means   = "records that cannot be decoded: docs/runbooks/quarantine-growing.md"
    }
  }

  lags = {
    MaxOffsetLag        = { limit = var.lag_records, means = "a consumer group is that many records behind" }
    EstimatedMaxTimeLag = { limit = var.lag_seconds, means = "a consumer group is that many seconds behind" }
  }
}

resource "aws_cloudwatch_log_metric_filter" "status" {
  for_each = local.fields

  name           = "${var.name}-${each.key}"
  log_group_name = aws_cloudwatch_log_group.this["status"].name
  pattern        = "{ $.${each.key} >= 0 }"

  metric_transformation {
    name      = each.key
    namespace = local.namespace
    value     = "$.${each.key}"
  }
}

# Of all views the worst one counts.
resource "aws_cloudwatch_metric_alarm" "status" {
  for_each = local.fields

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.means
  namespace           = local.namespace
  metric_name         = aws_cloudwatch_log_metric_filter.status[each.key].metric_transformation[0].name
  statistic           = "Maximum"
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.limit
  period              = 60
  evaluation_periods  = 5
  datapoints_to_alarm = 3
  treat_missing_data  = each.value.missing
  alarm_actions       = [aws_sns_topic.alarms.arn]
  ok_actions          = [aws_sns_topic.alarms.arn]
}

# A run's id is its consumer group, and is not known here: so the worst group of the cluster counts.
resource "aws_cloudwatch_metric_alarm" "lag" {
  for_each = local.lags

  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = "${each.value.means}: docs/runbooks/replay-stuck.md; a replay that has just begun is behind, and says so"
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.limit
  evaluation_periods  = 3
  treat_missing_data  = "notBreaching" # no group is there before the first run
  alarm_actions       = [aws_sns_topic.alarms.arn]
  ok_actions          = [aws_sns_topic.alarms.arn]

  metric_query {
    id          = "worst"
    expression  = "SELECT MAX(${each.key}) FROM \"AWS/Kafka\" WHERE \"Cluster Name\" = '${var.cluster_name}'"
    period      = 300
    return_data = true
  }
}

# Less than three brokers of three: nothing is lost, but nothing more may break.
resource "aws_cloudwatch_metric_alarm" "replicas" {
  alarm_name          = "${var.name}-under-replicated"
  alarm_description   = "a broker is down or behind: docs/runbooks/broker-lost.md"
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  evaluation_periods  = 3
  treat_missing_data  = "breaching"
  alarm_actions       = [aws_sns_topic.alarms.arn]
  ok_actions          = [aws_sns_topic.alarms.arn]

  metric_query {
    id          = "worst"
    expression  = "SELECT MAX(UnderReplicatedPartitions) FROM \"AWS/Kafka\" WHERE \"Cluster Name\" = '${var.cluster_name}'"
    period      = 300
    return_data = true
  }
}
