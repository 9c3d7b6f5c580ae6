# Trino: one coordinator and some workers on Fargate.

data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}
data "aws_region" "this" {}

locals {
  account   = data.aws_caller_identity.this.account_id
  partition = data.aws_partition.this.partition
  region    = data.aws_region.this.name
  domain    = "${var.name}.internal"

  # role => how many, once there is an image
  tasks = { coordinator = 1, worker = var.workers }

  mounts = [for name, path in { etc = "/etc/trino", data = "/data/trino", tmp = "/tmp" } : { sourceVolume = name, containerPath = path }]
  log = { for role in keys(local.tasks) : role => {
    logDriver = "awslogs"
    options = {
      "awslogs-group"         = var.log_group
      "awslogs-region"        = local.region
      "awslogs-stream-prefix" = role
    }
  } }
}

resource "aws_ecs_cluster" "this" {
  name = var.name

  setting {
    name  = "containerInsights"
    value = "enabled"
  }
}

resource "aws_ecs_task_definition" "this" {
  for_each = local.tasks

  family                   = "${var.name}-trino-${each.key}"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = var.cpu
  memory                   = var.memory
  execution_role_arn       = aws_iam_role.start.arn
  task_role_arn            = aws_iam_role.trino.arn

  # All that Trino writes is gone with its task.
  dynamic "volume" {
    for_each = toset(["etc", "data", "tmp"])

    content {
      name = volume.value
    }
  }

  container_definitions = jsonencode([{
    name                   = "trino"
    image                  = "${aws_ecr_repository.trino.repository_url}:${coalesce(var.image_tag, "none")}"
    essential              = true
    readonlyRootFilesystem = true
    command                = ["/usr/local/bin/start", each.key]
    portMappings           = [{ containerPort = 8080, protocol = "tcp" }]
    stopTimeout            = 120
    ulimits                = [{ name = "nofile", softLimit = 65536, hardLimit = 65536 }]

    environment = [
      { name = "AWS_REGION", value = local.region },
      { name = "COORDINATOR", value = "coordinator.${local.domain}" },
      { name = "LK_WAREHOUSE", value = "s3://${var.lake_bucket}/lake" },
    ]
    secrets = concat(
      [{ name = "SHARED_SECRET", valueFrom = aws_secretsmanager_secret.this["shared"].arn }],
      each.key == "coordinator" ? [{ name = "PASSWORDS", valueFrom = aws_secretsmanager_secret.this["passwords"].arn }] : [],
    )

    mountPoints = local.mounts
    dependsOn   = [{ containerName = "volumes", condition = "SUCCESS" }]

    logConfiguration = local.log[each.key]
    }, {
    # Fargate gives empty volumes to root; the image's user is Trino's.
    name                   = "volumes"
    image                  = "${aws_ecr_repository.trino.repository_url}:${coalesce(var.image_tag, "none")}"
    essential              = false
    readonlyRootFilesystem = true
    user                   = "0"
    command                = ["/bin/sh", "-ec", "chown 1000:1000 /etc/trino /data/trino && chmod 1777 /tmp"]
    mountPoints            = local.mounts
    logConfiguration       = local.log[each.key]
  }])
}

resource "aws_ecs_service" "this" {
  for_each = local.tasks

  name                   = "trino-${each.key}"
  cluster                = aws_ecs_cluster.this.id
  task_definition        = aws_ecs_task_definition.this[each.key].arn
  desired_count          = var.image_tag == null ? 0 : each.value
  launch_type            = "FARGATE"
  platform_version       = "LATEST"
  enable_execute_command = false
  propagate_tags         = "SERVICE"

  network_configuration {
    subnets          = var.subnet_ids
    security_groups  = [var.security_group_ids["trino"]]
    assign_public_ip = false
  }

  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  # There must never be two coordinators: a new one starts when the old one has ended.
  deployment_minimum_healthy_percent = each.key == "coordinator" ? 0 : 50
  deployment_maximum_percent         = each.key == "coordinator" ? 100 : 200

  dynamic "load_balancer" {
    for_each = each.key == "coordinator" ? [aws_lb_target_group.this.arn] : []

    content {
      target_group_arn = load_balancer.value
      container_name   = "trino"
      container_port   = 8080
    }
  }

  dynamic "service_registries" {
    for_each = each.key == "coordinator" ? [aws_service_discovery_service.coordinator.arn] : []

    content {
      registry_arn = service_registries.value
    }
  }

  depends_on = [aws_lb_listener.tls, aws_iam_role_policy.start]
}

# How workers find the coordinator.
resource "aws_service_discovery_private_dns_namespace" "this" {
  name = local.domain
  vpc  = var.vpc_id
}

resource "aws_service_discovery_service" "coordinator" {
  name = "coordinator"

  dns_config {
    namespace_id = aws_service_discovery_private_dns_namespace.this.id

    dns_records {
      ttl  = 10
      type = "A"
    }
  }
}
