mock_provider "aws" {
  source = "../../testing"
}

variables {
  name               = "lk-test"
  flow_log_group_arn = "arn:aws:logs:us-east-1:123456789012:log-group:flow"
  bucket_arns        = ["arn:aws:s3:::lk-test-lake", "arn:aws:s3:::lk-test-artifacts"]
}

run "closed_but_for_what_is_named" {
  variables {
    clients = { office = "10.1.0.0/16" }
  }

  assert {
    condition     = length(aws_subnet.private) == 3 && alltrue([for subnet in aws_subnet.private : !subnet.map_public_ip_on_launch])
    error_message = "three private subnets, without public addresses"
  }

  assert {
    condition     = [for subnet in aws_subnet.private : subnet.cidr_block] == ["10.20.0.0/20", "10.20.16.0/20", "10.20.32.0/20"]
    error_message = "the subnets share the range"
  }

  assert {
    condition     = alltrue([for rule in aws_vpc_security_group_ingress_rule.way : rule.referenced_security_group_id != null && rule.cidr_ipv4 == null && rule.cidr_ipv6 == null])
    error_message = "inside, only a security group is let in, never a range of addresses"
  }

  assert {
    condition     = alltrue([for rule in aws_vpc_security_group_egress_rule.way : rule.cidr_ipv4 == null && rule.cidr_ipv6 == null])
    error_message = "nothing goes out to a range of addresses"
  }

  assert {
    condition     = toset([for name, way in local.ways : "${way.from} ${way.port}" if way.to == "brokers"]) == toset(["jobs 9096"])
    error_message = "brokers are reached by jobs alone, at the port of SASL over TLS"
  }

  assert {
    condition     = { for who, rule in aws_vpc_security_group_ingress_rule.people : who => [rule.cidr_ipv4, rule.from_port, rule.to_port] } == { office = ["10.1.0.0/16", 443, 443] }
    error_message = "people reach the balancer at 443 from the named ranges"
  }

  assert {
    condition     = aws_default_security_group.closed.ingress == null || length(aws_default_security_group.closed.ingress) == 0
    error_message = "the default group lets nobody in"
  }

  assert {
    condition = aws_vpc_endpoint.s3.policy == data.aws_iam_policy_document.buckets.json && toset(flatten([for statement in data.aws_iam_policy_document.buckets.statement : [for arn in statement.resources : split("/", arn)[0]]])) == toset([
      "arn:aws:s3:::lk-test-lake", "arn:aws:s3:::lk-test-artifacts", "arn:aws:s3:::prod-us-east-1-starport-layer-bucket"
    ])
    error_message = "no other bucket may be reached"
  }

  assert {
    condition     = aws_flow_log.this.traffic_type == "ALL"
    error_message = "all traffic is logged"
  }

  assert {
    condition     = toset(keys(output.groups)) == toset(["brokers", "jobs", "trino", "balancer", "airflow", "endpoints"])
    error_message = "one group for each who"
  }

  assert {
    condition = toset([for endpoint in aws_vpc_endpoint.interface : endpoint.service_name]) == toset([for name in [
      "airflow.api", "airflow.env", "airflow.ops", "ecr.api", "ecr.dkr", "emr-serverless", "glue", "kms", "logs", "monitoring", "secretsmanager", "sqs", "sts",
    ] : "com.amazonaws.us-east-1.${name}"])
    error_message = "a service without an endpoint cannot be reached: there is no way to the internet"
  }
}

run "without_airflow_its_endpoints_are_not_paid_for" {
  variables {
    airflow_endpoints = []
  }

  assert {
    condition     = length(aws_vpc_endpoint.interface) == 10
    error_message = "the endpoints of Airflow are for Airflow"
  }
}

run "without_clients_nobody_outside_is_let_in" {
  assert {
    condition     = length(aws_vpc_security_group_ingress_rule.people) == 0
    error_message = "no clients, no way in"
  }
}

run "the_internet_is_no_client" {
  command = plan

  variables {
    clients = { everybody = "0.0.0.0/0" }
    cidr    = "10.0.0.0/28"
    zones   = 1
  }

  expect_failures = [var.clients, var.cidr, var.zones]
}
