# Every way through the network, in one place. Each way is an egress rule of one group and an ingress rule of the other.

locals {
  groups = {
    brokers   = "Kafka's brokers"
    jobs      = "Spark's drivers and executors"
    trino     = "Trino's coordinator and workers"
    balancer  = "the load balancer before Trino"
    airflow   = "Airflow's schedulers, workers and web server"
    endpoints = "the endpoints of AWS's services"
  }

  ways = {
    jobs_to_brokers      = { from = "jobs", to = "brokers", port = 9096, why = "SASL over TLS" }
    jobs_to_jobs         = { from = "jobs", to = "jobs", port = null, why = "Spark picks its ports" }
    airflow_to_airflow   = { from = "airflow", to = "airflow", port = null, why = "MWAA asks for it" }
    trino_to_trino       = { from = "trino", to = "trino", port = 8080, why = "coordinator and workers" }
    balancer_to_trino    = { from = "balancer", to = "trino", port = 8080, why = "queries, after TLS" }
    jobs_to_balancer     = { from = "jobs", to = "balancer", port = 443, why = "lk publishes views" }
    jobs_to_endpoints    = { from = "jobs", to = "endpoints", port = 443, why = "AWS's services" }
    trino_to_endpoints   = { from = "trino", to = "endpoints", port = 443, why = "AWS's services" }
    airflow_to_endpoints = { from = "airflow", to = "endpoints", port = 443, why = "AWS's services" }
  }
}

resource "aws_security_group" "this" {
  #checkov:skip=CKV2_AWS_5:the modules msk, spark, trino and airflow attach them, by the output `groups`
  for_each = local.groups

  name        = "${var.name}-${each.key}"
  description = "${var.name}: ${each.value}"
  vpc_id      = aws_vpc.this.id

  tags = { Name = "${var.name}-${each.key}" }
}

resource "aws_vpc_security_group_egress_rule" "way" {
  for_each = local.ways

  security_group_id            = aws_security_group.this[each.value.from].id
  referenced_security_group_id = aws_security_group.this[each.value.to].id
  description                  = each.value.why
  ip_protocol                  = each.value.port == null ? "-1" : "tcp"
  from_port                    = each.value.port
  to_port                      = each.value.port
}

resource "aws_vpc_security_group_ingress_rule" "way" {
  for_each = local.ways

  security_group_id            = aws_security_group.this[each.value.to].id
  referenced_security_group_id = aws_security_group.this[each.value.from].id
  description                  = each.value.why
  ip_protocol                  = each.value.port == null ? "-1" : "tcp"
  from_port                    = each.value.port
  to_port                      = each.value.port
}

resource "aws_vpc_security_group_egress_rule" "s3" {
  for_each = toset(["jobs", "trino", "airflow"])

  security_group_id = aws_security_group.this[each.key].id
  prefix_list_id    = aws_vpc_endpoint.s3.prefix_list_id
  description       = "S3 by the gateway endpoint"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

resource "aws_vpc_security_group_ingress_rule" "people" {
  for_each = var.clients

  security_group_id = aws_security_group.this["balancer"].id
  cidr_ipv4         = each.value
  description       = "queries over TLS from ${each.key}"
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}
