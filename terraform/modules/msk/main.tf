# The immutable log: TLS and SASL/SCRAM only, every record on three brokers, old segments in S3 and never deleted.

resource "aws_msk_cluster" "this" {
  cluster_name           = var.name
  kafka_version          = var.kafka_version
  number_of_broker_nodes = var.brokers
  storage_mode           = "TIERED"
  enhanced_monitoring    = "PER_TOPIC_PER_BROKER"

  broker_node_group_info {
    instance_type   = var.instance_type
    client_subnets  = var.subnet_ids
    security_groups = [var.security_group_id]

    connectivity_info {
      public_access {
        type = "DISABLED"
      }
    }

    storage_info {
      ebs_storage_info {
        volume_size = var.volume_gib
      }
    }
  }

  client_authentication {
    unauthenticated = false

    sasl {
      scram = true
      iam   = false
    }
  }

  encryption_info {
    encryption_at_rest_kms_key_arn = var.key_arn

    encryption_in_transit {
      client_broker = "TLS"
      in_cluster    = true
    }
  }

  configuration_info {
    arn      = aws_msk_configuration.this.arn
    revision = aws_msk_configuration.this.latest_revision
  }

  logging_info {
    broker_logs {
      cloudwatch_logs {
        enabled   = true
        log_group = var.log_group
      }
    }
  }

  lifecycle {
    precondition {
      condition     = var.brokers % length(var.subnet_ids) == 0
      error_message = "brokers (${var.brokers}) must be a multiple of the zones (${length(var.subnet_ids)}), so that each zone has as many."
    }
  }
}

resource "aws_msk_configuration" "this" {
  name           = var.name
  kafka_versions = [var.kafka_version]

  # Topics are made by `lk topics apply`, which says the same of each topic again, and how long brokers keep what is tiered.
  server_properties = <<-TEXT
    auto.create.topics.enable=false
    default.replication.factor=3
    log.retention.ms=-1
    min.insync.replicas=2
    offsets.topic.replication.factor=3
    transaction.state.log.min.isr=2
    transaction.state.log.replication.factor=3
    unclean.leader.election.enable=false
  TEXT

  lifecycle {
    create_before_destroy = true
  }
}
