mock_provider "aws" {
  source = "../../testing"
}

variables {
  name              = "lk-test"
  subnet_ids        = ["subnet-a", "subnet-b", "subnet-c"]
  security_group_id = "sg-brokers"
  key_arn           = "arn:aws:kms:us-east-1:123456789012:key/log"
  secrets_key_arn   = "arn:aws:kms:us-east-1:123456789012:key/secrets"
  log_group         = "/lk/test/brokers"
  password          = "told-by-the-test"
  destroy_with_data = true # a test destroys what it made
}

run "three_brokers_keep_every_record" {
  assert {
    condition     = aws_msk_cluster.this.number_of_broker_nodes == 3 && length(aws_msk_cluster.this.broker_node_group_info[0].client_subnets) == 3
    error_message = "three brokers in three zones"
  }

  assert {
    condition     = aws_msk_cluster.this.storage_mode == "TIERED"
    error_message = "storage must be tiered: retention has no end"
  }

  assert {
    condition = alltrue([for line in [
      "auto.create.topics.enable=false", "default.replication.factor=3", "log.retention.ms=-1", "min.insync.replicas=2",
      "unclean.leader.election.enable=false", "transaction.state.log.min.isr=2", "transaction.state.log.replication.factor=3",
    ] : contains(split("\n", aws_msk_configuration.this.server_properties), line)])
    error_message = "replication 3, min.insync.replicas 2, no end of retention, no unclean leader"
  }
}

run "only_tls_and_only_by_password" {
  assert {
    condition     = aws_msk_cluster.this.encryption_info[0].encryption_in_transit[0].client_broker == "TLS" && aws_msk_cluster.this.encryption_info[0].encryption_in_transit[0].in_cluster
    error_message = "TLS in transit, and nothing else"
  }

  assert {
    condition     = aws_msk_cluster.this.encryption_info[0].encryption_at_rest_kms_key_arn == var.key_arn
    error_message = "our key at rest"
  }

  assert {
    condition     = !aws_msk_cluster.this.client_authentication[0].unauthenticated && aws_msk_cluster.this.client_authentication[0].sasl[0].scram && !aws_msk_cluster.this.client_authentication[0].sasl[0].iam
    error_message = "SASL/SCRAM, and nobody without it"
  }

  assert {
    condition     = aws_msk_cluster.this.broker_node_group_info[0].connectivity_info[0].public_access[0].type == "DISABLED"
    error_message = "no broker may be public"
  }

  assert {
    condition     = aws_msk_cluster.this.broker_node_group_info[0].security_groups == toset(["sg-brokers"])
    error_message = "the brokers' own group"
  }

  assert {
    condition     = aws_msk_cluster.this.logging_info[0].broker_logs[0].cloudwatch_logs[0].enabled
    error_message = "brokers must log"
  }
}

run "the_secret_is_one_that_msk_takes" {
  assert {
    condition     = aws_secretsmanager_secret.lk.name == "AmazonMSK_lk-test_lk" && aws_secretsmanager_secret.lk.kms_key_id == var.secrets_key_arn
    error_message = "MSK takes secrets called AmazonMSK_… under a key of ours"
  }

  assert {
    condition     = aws_secretsmanager_secret_version.lk[0].secret_string_wo == null && aws_secretsmanager_secret_version.lk[0].secret_string == null
    error_message = "the password must not be in the state"
  }

  assert {
    condition     = aws_msk_scram_secret_association.lk.secret_arn_list == toset([aws_secretsmanager_secret.lk.arn])
    error_message = "MSK must know the secret"
  }

  assert {
    condition     = alltrue([for statement in data.aws_iam_policy_document.brokers.statement : anytrue([for c in statement.condition : c.test == "StringEquals" && c.variable == "aws:SourceAccount" && c.values == tolist(["123456789012"])])])
    error_message = "only a cluster of this account reads the secret"
  }

  assert {
    condition = alltrue([for statement in data.aws_iam_policy_document.brokers.statement :
    statement.actions == toset(["secretsmanager:GetSecretValue"]) && statement.resources == toset([aws_secretsmanager_secret.lk.arn])])
    error_message = "brokers read this one secret"
  }
}

run "bad_variables" {
  command = plan

  variables {
    brokers       = 2
    instance_type = "kafka.t3.small"
    volume_gib    = 5
    local_hours   = 0
    kafka_version = "2.8.1"
  }

  expect_failures = [var.brokers, var.instance_type, var.volume_gib, var.local_hours, var.kafka_version]
}

run "brokers_that_zones_cannot_share" {
  command = plan

  variables {
    brokers = 4
  }

  expect_failures = [aws_msk_cluster.this]
}

run "the_log_is_kept" {
  command = plan

  variables {
    destroy_with_data = false
  }

  assert {
    condition     = length(terraform_data.kept) == 1
    error_message = "what refuses to be destroyed must hang on the cluster (tests/scenarios/terraform destroys one that has it)"
  }
}
