output "log_groups" {
  description = "What (brokers, flow, jobs, status, trino) => name of its log group"
  value       = { for what, group in aws_cloudwatch_log_group.this : what => group.name }
}

output "log_group_arns" {
  description = "What => ARN of its log group"
  value       = { for what, group in aws_cloudwatch_log_group.this : what => group.arn }
}

output "alarm_topic_arn" {
  description = "ARN of the topic that alarms go to"
  value       = aws_sns_topic.alarms.arn
}

output "alarms" {
  description = "Names of all alarms"
  value = sort(concat(
    [for alarm in aws_cloudwatch_metric_alarm.status : alarm.alarm_name],
    [for alarm in aws_cloudwatch_metric_alarm.lag : alarm.alarm_name],
    [aws_cloudwatch_metric_alarm.replicas.alarm_name],
  ))
}
