mock_provider "aws" {
  source = "../../testing"
}

variables {
  name               = "lk-test"
  host               = "trino.example.org"
  certificate_arn    = "arn:aws:acm:us-east-1:123456789012:certificate/c"
  vpc_id             = "vpc-1"
  subnet_ids         = ["subnet-a", "subnet-b", "subnet-c"]
  security_group_ids = { trino = "sg-trino", balancer = "sg-balancer" }
  lake_bucket        = "lake"
  lake_bucket_arn    = "arn:aws:s3:::lake"
  access_bucket      = "access"
  databases          = ["archive", "serving"]
  lake_key_arn       = "arn:aws:kms:us-east-1:123456789012:key/lake"
  images_key_arn     = "arn:aws:kms:us-east-1:123456789012:key/images"
  secrets_key_arn    = "arn:aws:kms:us-east-1:123456789012:key/secrets"
  log_group          = "/lk/test/trino"
  log_group_arn      = "arn:aws:logs:us-east-1:123456789012:log-group:trino"
  password           = "told-by-the-test"
  users              = { lk = "one-of-the-test", reader = "another" }
}

run "before_the_first_push_no_task_runs" {
  assert {
    condition     = alltrue([for service in aws_ecs_service.this : service.desired_count == 0])
    error_message = "there is no image yet"
  }
}

run "one_coordinator_behind_one_door" {
  variables {
    image_tag = "2026-11-23"
    workers   = 3
  }

  assert {
    condition     = { for role, service in aws_ecs_service.this : role => service.desired_count } == { coordinator = 1, worker = 3 }
    error_message = "one coordinator and the workers"
  }

  assert {
    condition     = aws_ecs_service.this["coordinator"].deployment_maximum_percent == 100
    error_message = "never two coordinators"
  }

  assert {
    condition     = alltrue([for service in aws_ecs_service.this : !service.network_configuration[0].assign_public_ip && service.network_configuration[0].security_groups == toset(["sg-trino"])])
    error_message = "no public address"
  }

  assert {
    condition     = aws_lb.this.internal && aws_lb.this.enable_deletion_protection && aws_lb.this.security_groups == toset(["sg-balancer"])
    error_message = "the balancer is internal and protected"
  }

  assert {
    condition     = aws_lb_listener.tls.protocol == "HTTPS" && aws_lb_listener.tls.port == 443 && aws_lb_listener.tls.certificate_arn == var.certificate_arn && strcontains(aws_lb_listener.tls.ssl_policy, "TLS13")
    error_message = "TLS with the given certificate, and nothing else"
  }
}

run "containers_have_no_secret_and_write_nothing" {
  assert {
    condition     = alltrue(flatten([for task in aws_ecs_task_definition.this : [for one in jsondecode(task.container_definitions) : one.readonlyRootFilesystem]]))
    error_message = "the root file system is read only"
  }

  assert {
    condition     = alltrue([for task in aws_ecs_task_definition.this : jsondecode(task.container_definitions)[1].user == "0" && !contains(keys(jsondecode(task.container_definitions)[1]), "secrets")])
    error_message = "what hands the volumes over knows no secret"
  }

  assert {
    condition = { for role, task in aws_ecs_task_definition.this : role => { for secret in jsondecode(task.container_definitions)[0].secrets : secret.name => secret.valueFrom } } == {
      coordinator = { SHARED_SECRET = aws_secretsmanager_secret.this["shared"].arn, PASSWORDS = aws_secretsmanager_secret.this["passwords"].arn }
      worker      = { SHARED_SECRET = aws_secretsmanager_secret.this["shared"].arn }
    }
    error_message = "secrets are named, not told; hashes of passwords only to the coordinator"
  }

  assert {
    condition     = aws_secretsmanager_secret_version.this["shared"].secret_string_wo == null && aws_secretsmanager_secret_version.this["shared"].secret_string == null
    error_message = "the shared secret must not be in the state"
  }

  assert {
    condition     = alltrue([for one in [aws_secretsmanager_secret_version.this["users"], aws_secretsmanager_secret_version.this["passwords"]] : one.secret_string_wo == null && one.secret_string == null])
    error_message = "no password of a user must be in the state"
  }

  assert {
    condition     = { for role, task in aws_ecs_task_definition.this : role => jsondecode(task.container_definitions)[0].command } == { coordinator = ["/usr/local/bin/start", "coordinator"], worker = ["/usr/local/bin/start", "worker"] }
    error_message = "the image starts what it is told to be"
  }

  assert {
    condition     = { for one in jsondecode(aws_ecs_task_definition.this["worker"].container_definitions)[0].environment : one.name => one.value } == { AWS_REGION = "us-east-1", COORDINATOR = "coordinator.lk-test.internal", LK_WAREHOUSE = "s3://lake/lake" }
    error_message = "what the image's start needs"
  }
}

run "trino_reads_tables_and_keeps_the_catalog" {
  assert {
    condition     = alltrue(flatten([for s in data.aws_iam_policy_document.trino.statement : [for a in s.actions : !startswith(a, "s3:") || startswith(a, "s3:Get") || startswith(a, "s3:List")]]))
    error_message = "Trino never writes to S3"
  }

  assert {
    condition     = alltrue([for s in data.aws_iam_policy_document.trino.statement : !contains(s.resources, "*") && alltrue([for a in s.actions : !strcontains(a, "*")])])
    error_message = "every action and every resource is named"
  }

  assert {
    condition     = join(" ", flatten([for s in data.aws_iam_policy_document.start.statement : tolist(s.actions) if contains(s.resources, "*")])) == "ecr:GetAuthorizationToken"
    error_message = "only the login knows no resource"
  }
}

run "bad_variables" {
  command = plan

  variables {
    workers         = 0
    cpu             = 3000
    certificate_arn = "mine"
    host            = "trino"
  }

  expect_failures = [var.workers, var.cpu, var.certificate_arn, var.host]
}
